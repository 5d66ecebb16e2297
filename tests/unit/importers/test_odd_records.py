"""Records that are not what they should be: never an exception, never a message lost with its neighbour."""

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.import_history import import_history
from sojourn.importers.opencode.importer import OpencodeImporter
from sojourn.ports.importer import Importer
from tests.contracts.histories import history
from tests.servers.store import temporary_store

ODD: list[Any] = [
    None,
    True,
    -1,
    1e300,
    "",
    "x",
    [],
    [None],
    {},
    {"type": "text"},
    [{"type": "tool_use"}],
    "\ud800\x00",
]


def bent(value: Any, chance: random.Random) -> Any:
    """The same record with something in it replaced."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: bent(inner, chance) for key, inner in value.items()}
    return [bent(inner, chance) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("program", "version"),
    [
        ("claude-code", "2.1.325"),
        ("claude-code", "1.0.128"),
        ("codex", "0.166.0"),
        ("codex", "0.42.0"),
        ("opencode", "1.1.65"),
        ("opencode", "1.18.33-api"),
        ("opencode", "handmade-2.0.12"),
    ],
)
async def test_odd_records_are_survived(program: str, version: str, seed: int, tmp_path: Path) -> None:
    tried, chance = history(program, version, tmp_path), random.Random(seed)
    for path in sorted(tmp_path.rglob("*.json*")):
        documents = [json.dumps(bent(json.loads(text), chance)) for text in _documents(path)]
        path.write_text("".join(text + "\n" for text in documents))
    for path in tmp_path.rglob("*.db"):
        _bend_rows(path, chance)
    store = temporary_store()
    found = tried.found()
    report = await import_history(store, tried.importer, found)
    assert report.imported + len(report.skipped) == report.found == found.sessions
    assert report.new_messages
    assert (await import_history(store, tried.importer, found)).new_messages == 0
    await store.close()


def _documents(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    return [line for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else [text]


def _bend_rows(path: Path, chance: random.Random) -> None:
    with sqlite3.connect(path) as db:
        for table in ("message", "part", "session_message"):
            for own, text in db.execute(f"SELECT id, data FROM {table}").fetchall():
                odd = json.dumps(bent(json.loads(text), chance))
                db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (odd, own))
    db.close()


@pytest.mark.parametrize("source", [ClaudeCodeImporter(), CodexImporter(), OpencodeImporter()])
def test_a_place_that_may_not_be_looked_into_is_told(
    source: Importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_dir", refuse)
    found = source.find(tmp_path, {})
    assert found
    assert all("Permission denied" in one.problem for one in found)
