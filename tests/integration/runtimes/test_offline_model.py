"""offline with the real small model: its real weights, in this process."""

import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sojourn import config
from sojourn.core.errors import RuntimeFailed
from sojourn.plugins import Registry
from sojourn.runtimes.offline.engine import LlamaEngine
from sojourn.runtimes.offline.runtime import OfflineRuntime
from sojourn.runtimes.offline.small_model import FILE_NAME, LABEL, find_model_file
from sojourn.testing.turn_runner import make_turn_input, run_turn

pytestmark = pytest.mark.slow


@pytest.fixture
async def offline() -> AsyncIterator[OfflineRuntime]:
    made = OfflineRuntime(config.load({"model.detect": False}), Registry().load)
    yield made
    await made.close()


async def test_the_small_model_answers_only_who_chose_it(offline: OfflineRuntime):
    shown = await run_turn(offline, make_turn_input("Write a Python function that reverses a string."))
    assert "I cannot answer that" in shown.text
    assert "help" in shown.text
    assert shown.done[0].usage["model"] == "rules"
    ready = await offline.ready()
    assert (ready.detail, ready.models) == ("rules, no language model", ("rules", LABEL))


async def test_chosen_it_answers_free_text_and_is_named(offline: OfflineRuntime):
    shown = await run_turn(offline, make_turn_input("Write a Python function that reverses a string.", model=LABEL))
    assert shown.text.startswith("*SmolLM2-135M, a very small model")
    assert "def " in shown.text
    usage = shown.done[0].usage
    assert (usage["model"], usage["cost_usd"]) == ("SmolLM2-135M", None)
    assert usage["output_tokens"] > 10


async def test_the_rules_come_first_and_the_model_can_be_silenced(offline: OfflineRuntime):
    assert (await run_turn(offline, make_turn_input("help"))).done[0].usage["model"] == "rules"
    shown = await run_turn(offline, make_turn_input("Why is the sky blue?", model="rules"))
    assert "I cannot answer that" in shown.text


async def test_what_it_cannot_speak_it_is_not_asked(offline: OfflineRuntime):
    shown = await run_turn(offline, make_turn_input("什么是递归？", model=LABEL))
    assert "只懂英语" in shown.text


async def test_it_opens_no_port_and_leaves_nothing_behind():
    found = find_model_file(config.load())
    assert found is not None
    engine = LlamaEngine(found)
    async for _ in engine.stream_answer([{"role": "user", "content": "Hi."}], max_tokens=3):
        pass
    folder = engine._folder
    assert folder is not None
    assert engine._server.listening_address == f"unix://{folder}/engine.sock"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    await engine.close()
    assert not folder.exists()


async def test_other_bytes_under_the_same_name_are_refused(home: Path):
    (home / "models").mkdir(parents=True)
    (home / "models" / FILE_NAME).write_bytes(b"GGUF but not the one we know")
    offline = OfflineRuntime(config.load({"model.detect": False}), Registry().load)
    shown = await run_turn(offline, make_turn_input("Why is the sky blue?", model=LABEL))
    assert isinstance(shown.error, RuntimeFailed)
    assert "SHA-256" in str(shown.error)
    assert shown.error.hint


async def test_a_file_that_is_no_model_is_an_error_of_ours(tmp_path: Path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model at all")
    offline = OfflineRuntime(config.load({"model.detect": False, "model.local_file": str(broken)}), Registry().load)
    shown = await run_turn(offline, make_turn_input("Why is the sky blue?"))
    assert isinstance(shown.error, RuntimeFailed)


async def test_without_the_file_it_works_by_rules_and_says_how_to_get_more(tmp_path: Path):
    offline = OfflineRuntime(
        config.load({"model.detect": False, "model.local_file": str(tmp_path / "none")}), Registry().load
    )
    ready = await offline.ready()
    assert (ready.ok, "rules only" in ready.detail, "how do I use a better model?" in ready.hint) == (True, True, True)
    shutil.rmtree(tmp_path)
