"""Every foreign history keeps the contract, on homes that the real programs left behind."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import text_of, tool_calls_of
from sojourn.importers.import_history import import_history as run_import
from sojourn.ports.importer import Transcript
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.importer_contract import (
    ImporterContract,
    ImporterHistory,
    KilledImportContract,
    SpecialFilesContract,
    read_all,
)
from tests.contracts.histories import expected, history, versions

PROGRAMS = ("hermes", "claude-code", "codex", "opencode")
HOMES = [(program, version) for program in PROGRAMS for version in versions(program)]
NEWEST = [("hermes", "0.19.0"), ("claude-code", "2.1.325"), ("codex", "0.166.0"), ("opencode", "1.18.33")]
HALF = """
import asyncio, os, signal, sys
from importlib import import_module
from pathlib import Path
from sojourn.importers import import_history
from sojourn.stores.sqlite.store import SqliteStore

module, name, home, path = sys.argv[1:]
source = getattr(import_module(module), name)()
import_history._BATCH_SESSIONS = 1

def progress(stage, done, of):
    if done * 2 >= of:
        os.kill(os.getpid(), signal.SIGKILL)

[found] = source.find(Path(home), {})
asyncio.run(import_history.import_history(SqliteStore(Path(path), redactor=str), source, found, progress=progress))
"""


class _OnSqlite:
    """A home of a program, and a store to bring it into."""

    @pytest.fixture
    def history(self, program: str, version: str, tmp_path: Path) -> ImporterHistory:
        return history(program, version, tmp_path / "alex")

    @pytest.fixture
    def store(self, closing: Callable[[Any], Any], home: Path) -> SqliteStore:
        store: SqliteStore = closing(SqliteStore(home / "state.db", redactor=str))
        return store

    @pytest.fixture
    def import_history(self) -> Any:
        return run_import

    @pytest.fixture
    def half(self, history: ImporterHistory, store: SqliteStore) -> Callable[[], None]:
        def run() -> None:
            source = type(history.importer)
            given = (source.__module__, source.__name__, str(history.user_home), str(store.path))
            done = subprocess.run([sys.executable, "-c", HALF, *given], capture_output=True, text=True)
            assert done.returncode == -signal.SIGKILL, done.stderr

        return run


@pytest.mark.parametrize(("program", "version"), HOMES)
class TestEveryHome(ImporterContract, SpecialFilesContract, _OnSqlite):
    pass


@pytest.mark.parametrize(("program", "version"), NEWEST)
class TestKilled(KilledImportContract, _OnSqlite):
    pass


# What a reader that shares no code with ours finds in the same homes.
READ = [home for home in HOMES if home[0] != "hermes"]


@pytest.mark.parametrize(("program", "version"), READ)
def test_what_was_said_is_what_another_reader_finds(program: str, version: str, tmp_path: Path) -> None:
    read = {
        one.native_id.replace(".sidechain", "#sidechain"): one for one in read_all(history(program, version, tmp_path))
    }
    told = {one["id"]: one for one in expected(program, version)["sessions"]}
    assert read.keys() == told.keys()
    for native, one in told.items():
        assert _words(read[native], "user") == one["user"]
        assert _words(read[native], "assistant") == one["assistant"]
        assert sum(message.reasoning is not None for message in read[native].messages) == one["reasoning"]


@pytest.mark.parametrize(("program", "version"), READ)
def test_calls_and_outputs_are_what_another_reader_finds(program: str, version: str, tmp_path: Path) -> None:
    read = {
        one.native_id.replace(".sidechain", "#sidechain"): one for one in read_all(history(program, version, tmp_path))
    }
    for one in expected(program, version)["sessions"]:
        asked = [call for message in read[one["id"]].messages for call in tool_calls_of(message)]
        assert [(call.id, call.name) for call in asked] == [(call["id"], call["name"]) for call in one["tool_calls"]]
        outputs = {message.tool_call_id: message for message in read[one["id"]].messages if message.role == "tool"}
        for call in one["tool_calls"]:
            assert _squeezed(text_of(outputs[call["id"]])).startswith(_squeezed(call["result"]))
            if program != "codex":  # which says in the text alone whether a command failed
                assert ('"is_error": true' in (outputs[call["id"]].extra or "")) == (call["status"] == "error")


@pytest.mark.parametrize(("program", "version"), READ)
def test_sessions_are_described_as_another_reader_does(program: str, version: str, tmp_path: Path) -> None:
    read = {
        one.native_id.replace(".sidechain", "#sidechain"): one for one in read_all(history(program, version, tmp_path))
    }
    for one in expected(program, version)["sessions"]:
        fields = read[one["id"]].fields
        assert fields["source"] == ("subagent" if one["kind"] == "subagent" else program)
        assert (fields["parent_session_id"], bool(fields.get("archived"))) == (one["parent"], one["archived"])
        assert (fields["cwd"], fields.get("model")) == ("/home/alex/project", one["model"])
        if one["title"] is not None and not one["title"].startswith("New session - "):
            assert fields["title"] == one["title"]
        elif program == "codex":  # which names a session by its first prompt
            assert fields["title"] == one["user"][0]


def _words(read: Transcript, role: str) -> list[str]:
    said = [text_of(message) for message in read.messages if message.role == role]
    return [text for text in said if text]


def _squeezed(text: str) -> str:
    return "".join(text.split())
