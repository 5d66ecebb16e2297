"""Contract: secrets are redacted before they reach the rows or the index."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from sojourn.core.errors import TitleTaken
from sojourn.core.events import Chunk, Failed, Progress
from sojourn.core.messages import Message, user
from sojourn.ports.store import Listing, Store
from sojourn.testing.store_steps import (
    Fresh,
    begin,
    call_message,
    dump,
    find_hits,
    hold_lease,
    ingest,
    make_transcript,
    read_contents,
    say,
    take_first,
)
from sojourn.text.redaction import no_redaction

KEY = "sk-proj-" + "Ab1" * 12


async def find_traces(store: Store, needle: str) -> list[str]:
    """Returns the tables that contain a text."""
    return [table for table, rows in (await dump(store)).items() if needle in repr(rows)]


class SecretsContract:
    """No write path stores a secret."""

    async def test_a_secret_is_neither_kept_nor_found(self, store: Store) -> None:
        session = await begin(
            store, f"my key is {KEY} ok", Chunk(KEY), Failed("x", KEY), Progress("tool", {"key": KEY})
        )
        assert await read_contents(store, session) == ["my key is [redacted:api-key] ok"]
        await store.index()
        assert await find_hits(store, f'"{KEY}"') == []
        assert await find_hits(store, "Ab1Ab1*") == []
        assert await find_traces(store, "Ab1Ab1") == []

    async def test_every_text_of_a_message_is_blacked_out(self, store: Store) -> None:
        texts = {f.name: KEY for f in fields(Message) if "str" in str(f.type) and f.name not in ("role", "native_id")}
        await begin(store, Message(role="user", **texts))  # type: ignore[arg-type]
        assert await find_traces(store, "Ab1Ab1") == []

    async def test_what_append_returns_is_blacked_out_already(self, store: Store) -> None:
        kept = await say(store, await begin(store), f"key {KEY}", Chunk(KEY))
        assert "Ab1Ab1" not in repr(kept)

    async def test_tool_calls_stay_readable_json(self, store: Store) -> None:
        arguments = json.dumps({"command": f"export OPENAI_API_KEY={KEY}\nrun", "password": "correct-horse", "n": 1})
        session = await begin(store, call_message("terminal", arguments))
        [kept] = [item.item async for item in store.read(session)]
        assert isinstance(kept, Message)
        assert kept.tool_calls
        asked = json.loads(json.loads(kept.tool_calls)[0]["function"]["arguments"])
        assert asked["n"] == 1
        assert "redacted" in asked["command"]
        assert "redacted" in asked["password"]
        assert await find_traces(store, "Ab1Ab1") == await find_traces(store, "correct-horse") == []

    async def test_a_secret_at_the_edge_of_the_preview_is_not_shown_in_part(self, store: Store) -> None:
        for before in (40, 60, 66, 70):
            session = await begin(store, "x" * before + f" {KEY} and more")
            assert "sk-proj" not in (await store.get(session)).preview

    async def test_titles_and_session_fields_are_blacked_out(self, store: Store) -> None:
        made = await store.create(
            title=f"Key {KEY}", cwd=f"/{KEY}", model=KEY, details={"system_prompt": KEY, "extra": {"k": KEY}}
        )
        await store.change(made, replace(made, title=f"Also {KEY}", cwd=KEY))
        assert await find_traces(store, "Ab1Ab1") == []
        assert (await store.get(made.id)).title == "Also [redacted:api-key]"
        assert await find_hits(store, "Ab1Ab1*") == []

    async def test_titles_that_differ_by_a_secret_only_are_the_same_title(self, store: Store) -> None:
        await store.create(title=f"Key {KEY}")
        other = await store.create()
        with pytest.raises(TitleTaken):
            await store.create(title=f"Key {KEY}X")
        with pytest.raises(TitleTaken):
            await store.change(other, replace(other, title=f"Key {KEY}Y"))

    async def test_an_import_is_blacked_out(self, store: Store) -> None:
        usage = [{"model": "m", "billing_base_url": "https://me:hunter2222@x.org"}]
        await ingest(
            store, make_transcript("abc", f"key {KEY}", title=f"T {KEY}", records=[("meta", f'"{KEY}"')], usage=usage)
        )
        await ingest(store, make_transcript("abc", f"key {KEY}", f"more {KEY}"), mark="2")
        assert await find_traces(store, "Ab1Ab1") == await find_traces(store, "hunter2222") == []

    async def test_words_to_a_turn_are_blacked_out(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.send_control(session, "steer", {"text": f"use {KEY}"})
            [heard] = await take_first(1, store.controls(lease))
        assert heard.payload == {"text": "use [redacted:api-key]"}

    async def test_the_switch_turns_it_off(self, fresh: Fresh) -> None:
        store = fresh(redactor=no_redaction)
        session = await begin(store, user(f"key {KEY}"), title=f"T {KEY}")
        assert await read_contents(store, session) == [f"key {KEY}"]
        assert await find_hits(store, f'"{KEY}"') == [(session, 0), (session, 1)]
        assert [one.title for one in await store.find(Listing())] == [f"T {KEY}"]

    async def test_another_redactor_can_be_given(self, fresh: Fresh) -> None:
        store = fresh(redactor=lambda text: text.replace("banana", "[redacted:fruit]"))
        session = await begin(store, "a banana split")
        assert await read_contents(store, session) == ["a [redacted:fruit] split"]
