"""offline without a model: real tools, a real store, real files."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import user
from sojourn.plugins import Registry
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.tool import ToolResult
from sojourn.runtimes.offline.runtime import OfflineRuntime
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import (
    FakeWorkspace,
    TurnOutput,
    find_unpaired_calls,
    make_tool,
    make_turn_input,
    run_turn,
)


class Talk:
    """One conversation with the offline runtime, kept as a service would."""

    def __init__(self, kit: App, root: Path) -> None:
        self.kit, self.root = kit, root
        self.offline = OfflineRuntime(kit.settings, Registry().load)
        self.history: list[HistoryEntry] = []
        self.session: Any = None
        self.questions: list[Any] = []

    async def say(self, said: str, *, answer: str = "once") -> TurnOutput:
        if self.session is None:
            self.session = await self.kit.store.create(title="this one")
            self.lease = await self.kit.store.lease(self.session.id, holder="test", surface="cli", seconds=600)
        [kept] = await self.kit.store.append(self.lease, [user(said)])
        room = FakeWorkspace(root=self.root, session=self.session.id, answer=answer)
        turn = make_turn_input(
            said, room=room, tools=self.kit.tools(), session=self.session, history=tuple(self.history)
        )
        shown = await run_turn(self.offline, turn)
        self.questions = room.questions
        for one in [kept, *await self.kit.store.append(self.lease, shown.messages)]:
            self.history.append(HistoryEntry(one.seq, one.item))  # type: ignore[arg-type]
        assert find_unpaired_calls(shown.messages) == []
        assert shown.error is None
        return shown


@pytest.fixture
async def talk(home: Path, tmp_path: Path) -> AsyncIterator[Talk]:
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("# Demo\n" + "".join(f"line {at}\n" for at in range(100)))
    (tmp_path / "src" / "app.py").write_text("import os\n# TODO: tidy\n")
    kit = App(config.load({"model.detect": False, "model.local_file": "/nowhere"}))
    yield Talk(kit, tmp_path)
    await kit.close()


async def test_it_says_what_it_is_and_that_it_has_no_model(talk: Talk):
    assert "offline helper" in (await talk.say("hi")).text
    assert "not ChatGPT" in (await talk.say("who are you?")).text


async def test_files_are_listed_found_and_read(talk: Talk):
    assert "README.md" in (await talk.say("list files")).text
    assert "app.py" in (await talk.say("list files in src")).text
    assert "1. `src/app.py`" in (await talk.say("find app")).text
    assert "# TODO: tidy" in (await talk.say("read src/app.py")).text


async def test_a_long_file_is_read_on(talk: Talk):
    first = (await talk.say("read README.md")).text
    assert "line 10\n" in first
    assert "`read README.md from 61`" in first
    assert "line 99" in (await talk.say("read README.md from 61")).text


async def test_a_file_is_found_by_a_loose_name(talk: Talk):
    assert "# Demo" in (await talk.say("read the readme")).text


async def test_text_is_searched(talk: Talk):
    assert "`src/app.py:2`" in (await talk.say("search TODO")).text
    assert "No line" in (await talk.say("search nowhere-to-be-found")).text


async def test_a_command_is_asked_about_and_run(talk: Talk):
    shown = await talk.say("run echo hello && exit 3")
    assert "hello" in shown.text
    assert "exit code 3" in shown.text
    assert [question.tool for question in talk.questions] == ["terminal"]


async def test_a_refusal_is_told_as_one(talk: Talk):
    shown = await talk.say("run touch made.txt", answer="deny")
    assert "did not work" in shown.text
    assert not (talk.root / "made.txt").exists()


async def test_facts_are_kept_and_listed(talk: Talk):
    await talk.say("remember that I prefer tabs")
    assert "I prefer tabs" in (await talk.say("what do you remember?")).text


async def test_past_sessions_answer_with_sources_and_dates(talk: Talk):
    await talk.kit.add_samples()
    said = (await talk.say("what did we do about tomatoes?")).text
    assert "sample_01_garden" in said
    assert "2026-" in said
    assert "every morning" in said
    assert "How often should I water" in (await talk.say("show session sample_01_garden")).text


async def test_a_search_without_results_is_repeated_with_fewer_words(talk: Talk):
    await talk.kit.add_samples()
    shown = await talk.say("what did we do about tomatoes and quokkas?")
    assert len([one for one in shown.progress("tool") if one["status"] == "started"]) == 2
    assert "sample_01_garden" in shown.text


async def test_looking_for_something_is_not_found_as_having_talked_about_it(talk: Talk):
    assert "found nothing" in (await talk.say("what did we do about quokkas?")).text
    assert "found nothing" in (await talk.say("what did we do about quokkas?")).text


async def test_recent_sessions_are_listed(talk: Talk):
    assert "no other sessions" in (await talk.say("show my recent sessions")).text
    await talk.kit.add_samples()
    said = (await talk.say("what did we do yesterday?")).text
    assert "Sample: hunting a flaky test" in said
    assert "this one" not in said


async def test_what_it_cannot_do_it_does_not_pretend_to(talk: Talk):
    shown = await talk.say("Why is the sky blue?")
    assert "I cannot answer that" in shown.text
    assert "will not pretend" in (await talk.say("refactor the code in src/app.py")).text


async def test_free_text_is_looked_up_in_past_sessions(talk: Talk):
    await talk.kit.add_samples()
    said = (await talk.say("I am watering basil in July")).text
    assert "But your past sessions mention it" in said
    assert "sample_01_garden" in said


async def test_chinese_is_answered_in_chinese(talk: Talk):
    await talk.kit.add_samples()
    assert "离线助手" in (await talk.say("你好")).text
    assert "sample_03_chinese" in (await talk.say("之前讨论过会议记录吗")).text
    assert "README.md" in (await talk.say("列出文件")).text


async def test_terminal_bytes_of_a_tool_do_not_get_through(talk: Talk):
    async def read(at: Any, given: Any) -> ToolResult:
        return ToolResult(text="\x1b[31mred\x1b[0m\x07")

    shown = await run_turn(
        talk.offline, make_turn_input("read a.txt", tools=(make_tool("read_file", read, path="which"),))
    )
    assert "\x1b" not in shown.text + "".join(shown.answers)
    assert "red" in shown.text


async def test_a_tool_that_is_missing_is_named(talk: Talk):
    shown = await run_turn(talk.offline, make_turn_input("run ls"))
    assert "`terminal` is missing" in shown.text


async def test_a_local_server_is_offered_at_once(talk: Talk):
    with ModelServer(models=["llama3:8b"]) as model:
        usual = ((int(model.origin.rpartition(":")[2]), "ollama"),)
        offline = OfflineRuntime(config.load({"model.local_file": "/nowhere"}), Registry().load, usual=usual)
        assert "Ollama is running here with llama3:8b" in (await offline.ready()).hint
        assert "/runtime native" in (await run_turn(offline, make_turn_input("hi"))).text
