"""Contract: a session that goes on in another program. What was written there is not new; what comes after it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.core.messages import user
from sojourn.core.sessions import SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Record, Store
from sojourn.testing.store_steps import begin, ingest, make_transcript, read_contents, read_table
from sojourn.text.redaction import mark_identifiers

THEIRS = "theirs"


async def link(store: Store, session: SessionId, *, seen: tuple[str, ...] = ("m1", "m2"), usage: Any = ()) -> None:
    """Says that the session goes on as `theirs`, where some messages are known."""
    value = mark_identifiers({"seen": list(seen), "usage": list(usage), "written_usage": list(usage)})
    await store.put_record(Record(kind="continuations", key=f"hermes/{THEIRS}", value=value, session=session))
    await ingest(store, Transcript(native_id=THEIRS, fields={"continues": session}, messages=()), mark="")


class ContinuationsContract:
    """Sessions that go on elsewhere."""

    async def test_only_what_is_new_there_comes_back_and_once(self, store: Store) -> None:
        session = await begin(store, "a", "b")
        await link(store, session)
        [first] = await ingest(store, make_transcript(THEIRS, "a", "b"))
        assert (first.session, first.new_messages, first.removed_upstream) == (session, 0, 0)
        for mark in ("2", "3"):
            await ingest(store, make_transcript(THEIRS, "a", "b", "c", title="Theirs", ended_at=9.0), mark=mark)
        assert await read_contents(store, session) == ["a", "b", "c"]
        ours = await store.get(session)
        assert (ours.message_count, ours.title, ours.ended_at) == (3, None, None)

    async def test_usage_there_is_added_and_survives_an_import_of_the_origin(self, store: Store) -> None:
        base = {"model": "m", "input_tokens": 0, "api_call_count": 2}
        [origin] = await ingest(
            store, make_transcript("abc", "a", "b", input_tokens=5, usage=[base | {"input_tokens": 5}])
        )
        assert origin.session
        await link(store, origin.session, usage=[base])
        used = [base | {"input_tokens": 7, "api_call_count": 3}]
        for mark in ("2", "3"):
            await ingest(store, make_transcript(THEIRS, "a", "b", "c", usage=used), mark=mark)
        assert (await store.get(origin.session)).input_tokens == 12
        later = make_transcript("abc", "a", "b", "d", input_tokens=6, usage=[base | {"input_tokens": 6}])
        await ingest(store, later, mark="4")
        assert (await store.get(origin.session)).input_tokens == 13
        [row] = await read_table(store, "session_model_usage")
        assert (row["input_tokens"], row["api_call_count"]) == (13, 3)

    async def test_the_same_ids_in_two_places_are_two_messages(self, store: Store) -> None:
        [origin] = await ingest(store, make_transcript("abc", "a", "b", "c"))
        assert origin.session
        await link(store, origin.session)
        await ingest(store, make_transcript(THEIRS, "a", "b", "z"), mark="2")
        assert await read_contents(store, origin.session) == ["a", "b", "c", "z"]

    async def test_ids_that_look_like_keys_are_known_again(self, store: Store) -> None:
        session, native_id = await begin(store, "a"), "sk-proj-" + "Ab1" * 12
        await link(store, session, seen=(native_id,))
        for mark, tokens in (("2", 5), ("3", 7)):
            usage = [{"model": "m", "input_tokens": tokens}]
            theirs = replace(user("a"), native_id=native_id)
            await ingest(store, make_transcript(THEIRS, theirs, "b", usage=usage), mark=mark)
        assert await read_contents(store, session) == ["a", "b"]

    async def test_a_foreign_file_cannot_claim_a_session(self, store: Store) -> None:
        session = await begin(store, "a")
        [done] = await ingest(store, make_transcript("evil", "x", continues=session))
        assert done.session != session
        assert await read_contents(store, session) == ["a"]

    async def test_what_was_forgotten_does_not_come_back_from_there(self, store: Store) -> None:
        session = await begin(store, "a", "b")
        await link(store, session)
        await store.forget(session)
        [done] = await ingest(store, make_transcript(THEIRS, "a", "b", "c"), mark="2")
        assert (done.outcome, done.session) == ("forgotten", None)
