"""Hermes' homes, their profiles, and single database files."""

import sqlite3
from pathlib import Path

import pytest

from sojourn.importers.hermes import HermesImporter


def hermes_db(path: Path, *sessions: str) -> Path:
    """A `state.db` with as little in it as any version had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
    db.execute("INSERT INTO schema_version VALUES (11)")
    db.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, started_at REAL, title TEXT)")
    db.execute(
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL)"
    )
    for number, one in enumerate(sessions):
        db.execute("INSERT INTO sessions VALUES (?, 'cli', ?, NULL)", (one, 1.0 + number))
        db.execute("INSERT INTO messages VALUES (NULL, ?, 'user', ?, 1.0)", (one, f"words of {one}"))
    db.commit()
    db.close()
    return path


def test_the_home_and_each_profile_are_found(tmp_path):
    hermes_db(tmp_path / ".hermes" / "state.db", "a")
    for profile in ("work", "play"):
        hermes_db(tmp_path / ".hermes" / "profiles" / profile / "state.db", "b", "c")
    found = HermesImporter().find(tmp_path, {})
    assert [(one.home.name, one.sessions) for one in found] == [(".hermes", 1), ("play", 2), ("work", 2)]
    assert HermesImporter().profiles(tmp_path / ".hermes") == found[1:]


@pytest.mark.parametrize("name", ["old copy.db", "state.db.bak"])
def test_a_database_under_another_name_is_read_itself_and_not_its_neighbour(tmp_path, name):
    hermes_db(tmp_path / "state.db", "neighbour")
    copy = hermes_db(tmp_path / name, "one", "two")
    found = HermesImporter().claims(copy)
    assert found is not None
    assert (found.home, found.sessions) == (copy, 2)
    with HermesImporter().open(found.home) as reader:
        assert [one.native_id for one in reader.sessions()] == ["one", "two"]


def test_its_own_database_stands_for_the_home(tmp_path):
    file = hermes_db(tmp_path / "state.db", "one")
    assert HermesImporter().claims(file) == HermesImporter().claims(tmp_path)
