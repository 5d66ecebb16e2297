"""Records that are not what they should be: never an exception, never a message lost with its neighbour."""

import json
import random
import sqlite3
from pathlib import Path

import pytest

from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.import_history import import_history
from sojourn.importers.opencode.importer import OpencodeImporter
from sojourn.ports.importer import Importer
from tests.contracts.histories import history
from tests.contracts.odd_records import bend_files, bent
from tests.servers.store import temporary_store


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
    bend_files(tmp_path, chance)
    for path in tmp_path.rglob("*.db"):
        _bend_rows(path, chance)
    store = temporary_store()
    found = tried.found()
    report = await import_history(store, tried.importer, found)
    assert report.imported + len(report.skipped) == report.found == found.sessions
    assert report.new_messages
    assert (await import_history(store, tried.importer, found)).new_messages == 0
    await store.close()


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
