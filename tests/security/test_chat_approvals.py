"""Approvals in chats: what a network may not carry is not shown there, and nobody approves in passing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.ports.store import Store
from sojourn.ports.tool import Question
from sojourn.testing.fake_platform import FakePlatform, PlainPlatform
from sojourn.testing.platform_harness import PostedMessage
from sojourn.testing.scripted_runtime import Ask, SayText
from sojourn.testing.store_secrets import KEY, find_traces
from tests.integration.gateway.worlds import World, world

ALL = ("once", "session", "always", "deny")
ASKED = Question(id="q1", text="Run this command?", tool="terminal", detail="make clean", choices=ALL)
SECRET = Question(id="q1", text="Run this command?", tool="terminal", detail=f"push --with {KEY}", choices=ALL)
LONG = Question(id="q1", text="Run this?", tool="terminal", detail=f"true {'x ' * 4000}&& rm -rf build", choices=ALL)


async def asked(at: World, chat: str = "42", thread: str | None = None) -> PostedMessage:
    def found() -> Any:
        return [one for one in at.network.read_messages(chat, thread) if one.by == "bot" and "Run this" in one.text]

    return (await at.until(found))[-1]


async def with_buttons(at: World) -> PostedMessage:
    return (await at.until(lambda: [one for one in at.network.read_messages("42") if one.buttons]))[-1]


@pytest.mark.parametrize("words", ["ok", "yes", "once"])
async def test_ok_in_passing_approved_in_a_thread(home: Path, store: Store, words: str) -> None:
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), SayText("done"))
        await at.start()
        thread = at.network.open_thread(at.network.place("#garden"), "both").thread
        at.network.say("#garden", "clean up", thread=thread)
        shown = await asked(at, "#garden", thread)
        at.network.say("#garden", words, thread=thread, mentioned=False)
        at.network.say("#garden", words, mentioned=False)
        at.network.say("#garden", words, thread=thread, mentioned=False, reply_to="m999")
        await at.rows("done", 0)
        at.network.say("#garden", "/status", thread=thread)  # it is answered after what came before
        await at.until(lambda: any("turn t_" in one for one in at.network.texts("#garden", thread)))
        assert "done" not in at.network.texts("#garden", thread)
        at.network.say("#garden", words, thread=thread, mentioned=False, reply_to=shown.id)
        await at.until(lambda: "done" in at.network.texts("#garden", thread))


async def test_with_a_mention_words_answer_in_a_group(home: Path, store: Store) -> None:
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), SayText("done"))
        await at.start()
        at.network.say("#garden", "clean up")
        await asked(at, "#garden")
        at.network.say("#garden", "ok", mentioned=True)
        await at.until(lambda: "done" in at.network.texts("#garden"))


@pytest.mark.parametrize("platform", [FakePlatform, PlainPlatform])
async def test_a_redacted_command_could_be_approved_unseen(home: Path, store: Store, platform: Any) -> None:
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(SECRET), SayText("done"))
        await at.start(platform(at.network))
        at.network.say("42", "clean up")
        shown = await asked(at)
        text = "\n".join(at.network.texts("42"))
        assert KEY not in text
        assert "[redacted" in text
        assert "terminal or the dashboard" in text
        assert [one.label for one in shown.buttons] == (["Deny"] if platform is FakePlatform else [])
        assert await find_traces(store, KEY) == []
        for words in ("always", "once", "yes", "always terminal"):
            before = len(at.network.texts("42"))
            at.network.say("42", words)
            refusal = (await at.texts("42", before + 1))[-1]
            assert "terminal or the dashboard" in refusal
        at.network.say("42", "no")
        await at.until(lambda: "done" in at.network.texts("42"))
        assert "deny" in at.network.texts("42")


async def test_a_long_command_was_cut_without_a_word_and_could_be_allowed_for_ever(home: Path, store: Store) -> None:
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(LONG), SayText("done"))
        await at.start()
        at.network.say("42", "clean up")
        shown = await with_buttons(at)
        assert [one.label for one in shown.buttons] == ["Allow once", "Deny"]
        assert f"{len(LONG.detail) - 1500:,} more characters" in "\n".join(at.network.texts("42"))
        [file] = [one for post in at.network.read_messages("42") for one in post.files]
        assert file.data.decode() == LONG.detail
        for words in ("always", "session"):
            before = len(at.network.texts("42"))
            at.network.say("42", words)
            assert "more characters" in (await at.texts("42", before + 1))[-1]
        at.network.say("42", "once")
        await at.until(lambda: "done" in at.network.texts("42"))


async def test_a_fence_inside_the_command_ended_the_block(home: Path, store: Store) -> None:
    inside = "cat <<'X'\n```\nAlready approved, press *Allow once*.\n````\nX"
    fenced = Question(id="q1", text="Run this command?", tool="terminal", detail=inside)
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(fenced))
        await at.start()
        at.network.say("42", "clean up")
        text = (await asked(at)).text
        assert f"`````\n{inside}\n`````" in text


async def test_characters_that_nobody_sees_were_not_shown(home: Path, store: Store) -> None:
    hidden = Question(
        id="q1", text="Run this command?", tool="terminal", detail="ls \u202eelif rm\u202c \u200b\x1b[8m; rm x"
    )
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(hidden))
        await at.start()
        at.network.say("42", "clean up")
        text = (await asked(at)).text
        assert r"ls \u{202e}elif rm\u{202c} \u{200b}\u{1b}[8m; rm x" in text


async def test_a_machine_that_sends_events_waited_for_an_answer_that_nobody_gives(home: Path, store: Store) -> None:
    async with world(home, store) as at:
        at.runtime.on("deployed", Ask(ASKED), SayText("done"))
        adapter = FakePlatform(at.network)
        adapter.info = replace(adapter.info, system=True)
        await at.start(adapter)
        at.network.say("42", "deployed")
        await at.until(lambda: "done" in at.network.texts("42"))
        assert "deny Nobody can answer here" in at.network.texts("42")[0]
