"""Programs whose histories are written by hand here: the contract, odd records, and what is read of each."""

import json
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.errors import SourceUnreadable
from sojourn.core.messages import text_of, tool_calls_of
from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.hermes import HermesImporter
from sojourn.importers.import_history import import_history
from sojourn.importers.opencode.importer import OpencodeImporter
from sojourn.importers.sojourn_export import SojournImporter
from sojourn.ports.importer import Importer, Transcript
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.importer_contract import ImporterContract, ImporterHistory, SpecialFilesContract, read_all
from tests.contracts.histories import history as real_history
from tests.contracts.histories import versions
from tests.contracts.odd_records import bend_databases, bend_files
from tests.contracts.written_agents import AGENTS
from tests.contracts.written_chats import CHATS
from tests.contracts.written_editors import EDITED
from tests.contracts.written_exports import EXPORTED
from tests.contracts.written_homes import WRITTEN as FILES
from tests.servers.store import temporary_store

WRITTEN = {**FILES, **EXPORTED, **EDITED, **AGENTS, **CHATS}


@pytest.mark.parametrize("program", WRITTEN)
class TestWrittenHome(ImporterContract, SpecialFilesContract):
    @pytest.fixture
    def history(self, program: str, tmp_path: Path) -> ImporterHistory:
        return WRITTEN[program](tmp_path / "alex")

    @pytest.fixture
    async def store(self) -> AsyncIterator[SqliteStore]:
        store = temporary_store(redactor=str)
        yield store
        await store.close()

    @pytest.fixture
    def import_history(self) -> Any:
        return import_history


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("program", WRITTEN)
def test_odd_records_are_survived(program: str, seed: int, tmp_path: Path) -> None:
    history = WRITTEN[program](tmp_path / "alex")
    bend_files(tmp_path, random.Random(seed))
    bend_databases(tmp_path, random.Random(seed))
    if not [one for one in history.find() if not one.problem]:
        return
    told: list[str] = []
    with history.importer.open(history.found().home) as reader:
        for entry in [one for one in reader.sessions() if not one.problem]:
            try:
                one = reader.read(entry.native_id)
            except SourceUnreadable as error:
                told.append(str(error))
                continue
            json.dumps(one.fields)
            assert all(message.role and message.native_id for message in one.messages)
    assert [why for why in told if "its messages are not" not in why and "cannot be read" not in why] == []


@pytest.mark.parametrize("program", WRITTEN)
def test_no_other_importer_claims_it(program: str, tmp_path: Path) -> None:
    home = WRITTEN[program](tmp_path / "alex").found().home
    others = [make(tmp_path / name) for name, make in WRITTEN.items() if name != program]
    assert [one.importer.name for one in others if one.importer.claims(home)] == []


@pytest.mark.parametrize("program", ["hermes", "claude-code", "codex", "opencode"])
def test_none_claims_the_home_of_an_older_importer(program: str, tmp_path: Path) -> None:
    home = real_history(program, versions(program)[-1], tmp_path / "alex").found().home
    paths = [home, *home.parent.glob("*.db"), *home.glob("*.db")]
    written = [make(tmp_path / name) for name, make in WRITTEN.items()]
    assert [(one.importer.name, path) for one in written for path in paths if one.importer.claims(path)] == []


@pytest.mark.parametrize("program", FILES)
def test_a_kind_that_is_not_known_is_kept_and_told(program: str, tmp_path: Path) -> None:
    history = WRITTEN[program](tmp_path / "alex")
    for path in sorted((tmp_path / "alex").rglob("*.jsonl")):
        with path.open("a") as file:
            file.write(json.dumps({"type": "hologram", "uuid": "u9", "parentUuid": "u6", "data": {"depth": 3}}) + "\n")
    for one in read_all(history):
        assert any("hologram" in text for _, text in one.records)
        assert any("hologram" in warning for warning in one.warnings)


def read_last(program: str, tmp_path: Path) -> Transcript:
    return read_all(WRITTEN[program](tmp_path / "alex"))[-1]


@pytest.mark.parametrize("program", [program for program in WRITTEN if program != "aider"])  # which has no calls
def test_calls_have_their_outputs(program: str, tmp_path: Path) -> None:
    one = read_last(program, tmp_path)
    [call] = [call for message in one.messages for call in tool_calls_of(message)]
    [output] = [message for message in one.messages if message.role == "tool"]
    assert (output.tool_call_id, text_of(output), output.tool_name) == (call.id, "a.py", call.name)


FIELDS: dict[str, dict[str, Any]] = {
    "gemini": {"title": "Files 3", "cwd": "/home/alex/project", "model": "gemini-3", "source": "subagent"},
    "qwen": {"title": "Files 3", "cwd": "/home/alex/project", "model": "qwen3", "source": "qwen"},
    "chatgpt": {"title": "Files 3", "model": "gpt-5", "source": "chatgpt"},
    "claude-ai": {"title": "Files 3", "source": "claude-ai"},
    "cursor": {"title": "Files 3", "model": "composer-1", "source": "cursor"},
    "goose": {"title": "Files 3", "cwd": "/home/alex/project", "model": "claude", "billing_provider": "anthropic"},
    "pi": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "estimated_cost_usd": 0.25},
    "roo": {"title": "How many files?", "cwd": "/home/alex/project", "estimated_cost_usd": 0.5},
    "cline": {"title": "Files 3", "cwd": "/home/alex/project", "source": "cline"},
    "continue": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1"},
    "crush": {"title": "Files 3", "model": "m-1", "billing_provider": "x", "estimated_cost_usd": 0.125},
    "copilot": {"title": "How many files?", "cwd": "/home/alex/project", "model": "gpt-5", "git_branch": "main"},
    "openclaw": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "billing_provider": "x"},
    "kimi": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "source": "kimi"},
    "zed": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "billing_provider": "x"},
    "openhands": {"title": "How many files?", "cwd": "/home/alex/project", "model": "m-1", "estimated_cost_usd": 0.5},
    "mistral-vibe": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "git_branch": "main"},
    "grok": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "source": "grok"},
    "deepseek-harness": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1"},
    "antigravity": {"title": "How many files?", "source": "antigravity"},
    "open-webui": {"title": "Files 3", "model": "m-1", "source": "open-webui", "archived": 0},
    "open-webui-export": {"title": "Files 3", "model": "m-1", "source": "open-webui"},
    "llm": {"title": "Files 3", "model": "m-1", "source": "llm"},
    "librechat": {"title": "Files 3", "model": "m-1", "billing_provider": "openAI"},
    "opencode-export": {"title": "Files 3", "cwd": "/home/alex/project", "model": "m-1", "source": "opencode"},
    "aider": {"title": "Files 3?", "model": "m-1", "source": "aider"},
}
TOKENS = {  # input without what was read from a cache, output, read from a cache, reasoning
    "gemini": (60, 7, 40, 3),
    "qwen": (30, 5, 20, 2),
    "cursor": (80, 8, 0, 0),
    "goose": (70, 6, 0, 0),
    "pi": (40, 4, 10, 0),
    "roo": (30, 3, 0, 0),
    "continue": (20, 2, 0, 0),
    "crush": (25, 5, 0, 0),
    "copilot": (90, 9, 30, 1),
    "openclaw": (20, 2, 0, 0),
    "kimi": (20, 2, 5, 0),
    "zed": (20, 2, 5, 0),
    "openhands": (20, 2, 5, 0),
    "mistral-vibe": (20, 2, 0, 0),
    "grok": (20, 2, 5, 1),
    "deepseek-harness": (20, 2, 0, 0),
    "open-webui": (20, 2, 0, 0),
    "open-webui-export": (20, 2, 0, 0),
    "llm": (20, 2, 0, 0),
    "opencode-export": (40, 4, 0, 0),
    "aider": (1200, 31, 0, 0),
}
COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "reasoning_tokens")


@pytest.mark.parametrize("program", WRITTEN)
def test_a_session_is_described(program: str, tmp_path: Path) -> None:
    fields = read_last(program, tmp_path).fields
    assert {name: fields.get(name) for name in FIELDS[program]} == FIELDS[program]
    assert tuple(fields.get(name, 0) for name in COUNTED) == TOKENS.get(program, (0, 0, 0, 0))


@pytest.mark.parametrize("program", ["qwen", "chatgpt", "pi", "open-webui", "open-webui-export"])
def test_a_branch_that_was_left_stays_as_undone(program: str, tmp_path: Path) -> None:
    one = read_last(program, tmp_path)
    undone = [text_of(message) for message in one.messages if not message.active and message.role == "assistant"]
    assert [text for text in undone if text] == ["Two."]


def test_a_rewind_of_gemini_leaves_what_it_took_back_as_undone(tmp_path: Path) -> None:
    history = WRITTEN["gemini"](tmp_path / "alex")
    [path] = (tmp_path / "alex").rglob("session-2026-03-02*.jsonl")
    with path.open("a") as file:
        file.write('{"$rewindTo": "m2"}\n')
    undone = [one for one in read_all(history) if any(not message.active for message in one.messages)]
    assert [[message.active for message in one.messages] for one in undone] == [[True, False, False]]


OLDER = (HermesImporter(), OpencodeImporter(), CodexImporter(), ClaudeCodeImporter(), SojournImporter())


@pytest.mark.parametrize("program", WRITTEN)
def test_no_older_importer_claims_it(program: str, tmp_path: Path) -> None:
    home = WRITTEN[program](tmp_path / "alex").found().home
    older: tuple[Importer, ...] = OLDER
    assert [one.name for one in older for path in (home, home.parent) if one.claims(path)] == []


PLACES = {  # on Linux, macOS and Windows; the other programs keep the same folder of the home everywhere
    "cursor": (".config/Cursor", "Library/Application Support/Cursor", "AppData/Roaming/Cursor"),
    "goose": (".local/share/goose", "Library/Application Support/goose", "AppData/Roaming/Block/goose/data"),
    "roo": (".config/Code", "Library/Application Support/Code", "AppData/Roaming/Code"),
    "zed": (".local/share/zed", "Library/Application Support/Zed", "AppData/Local/Zed"),
    "llm": (
        ".config/io.datasette.llm",
        "Library/Application Support/io.datasette.llm",
        "AppData/Roaming/io.datasette.llm",
    ),
    "crush": (".local/share/crush", "Library/Application Support/crush", "AppData/Local/crush"),
}


@pytest.mark.parametrize("program", PLACES)
def test_it_is_found_on_every_system(program: str, tmp_path: Path) -> None:
    history, (first, *others) = WRITTEN[program](tmp_path / "alex"), PLACES[program]
    at = tmp_path / "alex" / first
    for place in others:
        target = tmp_path / "alex" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        at = at.rename(target)
        assert history.found().sessions == 3


def test_variables_move_the_usual_places(tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    for program, variable, place in (
        ("gemini", "GEMINI_CLI_HOME", ""),
        ("copilot", "COPILOT_HOME", ".copilot"),
        ("cline", "CLINE_DIR", ".cline"),
        ("pi", "PI_CODING_AGENT_DIR", ".pi/agent"),
        ("continue", "CONTINUE_GLOBAL_DIR", ".continue"),
        ("openclaw", "OPENCLAW_STATE_DIR", ".openclaw"),
        ("kimi", "KIMI_CODE_HOME", ".kimi-code"),
        ("mistral-vibe", "VIBE_HOME", ".vibe"),
        ("grok", "GROK_HOME", ".grok"),
        ("deepseek-harness", "DSH_HOME", ".dsh"),
        ("llm", "LLM_USER_PATH", ".config/io.datasette.llm"),
    ):
        importer = WRITTEN[program](moved / program).importer
        assert importer.find(tmp_path / "nobody", {}) == []
        [found] = importer.find(tmp_path / "nobody", {variable: str(moved / program / place)})
        assert found.sessions == 3
