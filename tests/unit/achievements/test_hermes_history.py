"""A Hermes database is read as it is, while it changes, and is left as it was."""

from __future__ import annotations

import pickle
import sqlite3

import pytest

from sojourn.core.errors import SourceUnreadable, StoreCorrupt
from sojourn.importers.hermes_history import HermesHistory

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, model TEXT, started_at REAL,
    rewind_count INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT,
    tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1);
CREATE INDEX by_session ON messages(session_id, active, timestamp);
"""


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def hermes(home):
    db = sqlite3.connect(home / "state.db")
    db.execute("PRAGMA journal_mode=WAL")
    db.executescript(SCHEMA)
    yield db
    db.close()


def session(db, id_, started_at=1.0, **columns):
    names = ["id", "started_at", *columns]
    marks = ", ".join("?" * len(names))
    db.execute(f"INSERT INTO sessions ({', '.join(names)}) VALUES ({marks})", [id_, started_at, *columns.values()])
    db.commit()


def message(db, session_id, content, role="user", timestamp=10.0, active=1, tool_calls=None):
    db.execute(
        "INSERT INTO messages (session_id, role, content, timestamp, active, tool_calls) VALUES (?, ?, ?, ?, ?, ?)",
        [session_id, role, content, timestamp, active, tool_calls],
    )
    db.commit()


def contents(history, id_="s"):
    ((_, rows),) = history.messages([id_])
    return [(row[2], bool(row[3])) for row in rows]


def test_sessions_come_newest_first_and_ties_as_they_were_added(hermes, home):
    for id_, started in (("a", 1.0), ("b", 3.0), ("c", 3.0), ("", 9.0)):
        session(hermes, id_, started)
    assert [one.id for one in HermesHistory(home).sessions()] == ["b", "c", "a"]


def test_facts_tell_of_all_rows_and_of_live_ones(hermes, home):
    session(hermes, "s", rewind_count=2, archived=1, model="m")
    message(hermes, "s", "one", timestamp=50.0)
    message(hermes, "s", "two", active=0, timestamp=70.0)
    message(hermes, "s", "three", active=None, timestamp=60.0)
    (facts,) = HermesHistory(home).sessions()
    assert (facts.rows, facts.active_rows, facts.last_row, facts.last_active) == (3, 2, 3, 70.0)
    assert (facts.rewinds, facts.archived, facts.model) == (2, True, "m")


def test_later_lists_tell_the_same_as_a_first_one(hermes, home):
    for id_ in ("a", "b", "c"):
        session(hermes, id_)
        message(hermes, id_, "one")
        message(hermes, id_, "two")
    history = HermesHistory(home)
    history.sessions()
    steps = [
        lambda: message(hermes, "a", "three", timestamp=1.0),
        lambda: hermes.execute("UPDATE messages SET active = 0 WHERE session_id = 'b' AND content = 'one'"),
        lambda: hermes.execute("DELETE FROM messages WHERE session_id = 'c'"),
        lambda: (session(hermes, "d", 5.0), message(hermes, "d", "x")),
        lambda: hermes.execute("UPDATE messages SET active = 1"),
    ]
    for step in steps:
        step()
        hermes.commit()
        assert history.sessions() == HermesHistory(home).sessions()


def test_removed_rows_are_not_read_and_unmarked_ones_are(hermes, home):
    session(hermes, "s")
    for text, active in (("one", 1), ("two", 0), ("three", None)):
        message(hermes, "s", text, active=active)
    assert contents(HermesHistory(home)) == [(b"one", False), (b"three", False)]


def test_structured_numeric_and_binary_contents_become_text(hermes, home):
    session(hermes, "s")
    for content in ('\0json:[{"a": 1}]', "\0json:[broken", "\0other", "", None, 7, b"\xff'"):
        message(hermes, "s", content)
    assert contents(HermesHistory(home)) == [
        (b'[{"a": 1}]', True),
        (b"\0json:[broken", False),
        (b"\0other", False),
        (b"", False),
        (None, False),
        (b"7", False),
        (b'b"\\xff\'"', False),
    ]


def test_invalid_utf8_does_not_end_the_reading(hermes, home):
    session(hermes, "s")
    message(hermes, "s", "x")
    hermes.execute("UPDATE messages SET content = CAST(X'ff65' AS TEXT)")
    hermes.commit()
    assert contents(HermesHistory(home)) == [(b"\xffe", False)]


def test_databases_from_before_rewinds_and_archives_are_read(home):
    db = sqlite3.connect(home / "state.db")
    db.executescript(
        "CREATE TABLE sessions (id TEXT, source TEXT, started_at REAL);"
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT,"
        " tool_name TEXT, timestamp REAL);"
        "INSERT INTO sessions VALUES ('s', 'cli', 1.0);"
        "INSERT INTO messages VALUES (1, 's', 'user', 'x', NULL, NULL, 2.0);"
    )
    db.close()
    history = HermesHistory(home)
    (facts,) = history.sessions()
    assert (facts.archived, facts.active_rows, facts.title) == (False, 1, None)
    assert contents(history) == [(b"x", False)]


def test_previews_are_the_opening_words_on_one_line(hermes, home):
    contents = {"a": "  two\nlines  ", "b": "x" * 70, "c": '\0json:["x"]', "d": "cut\0here", "e": ""}
    for id_, content in contents.items():
        session(hermes, id_)
        message(hermes, id_, None)
        message(hermes, id_, content)
    found = HermesHistory(home).previews(["a", "b", "c", "d", "e", "nobody"])
    assert found == {"a": "two lines", "b": "x" * 60 + "...", "c": "", "d": "cut", "e": ""}


def test_what_hermes_writes_is_seen_through_a_symlink(hermes, home, tmp_path):
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "state.db").symlink_to(home / "state.db")
    session(hermes, "s")
    history = HermesHistory(tmp_path / "link")
    mark = history.fingerprint()
    assert history.fingerprint() == mark
    message(hermes, "s", "new")
    assert history.fingerprint() != mark
    assert contents(history) == [(b"new", False)]


def test_a_quiet_database_is_read_without_a_trace_until_somebody_writes(hermes, home):
    session(hermes, "s")
    hermes.close()
    history = HermesHistory(home)
    mark = history.fingerprint()
    assert [path.name for path in home.iterdir()] == ["state.db"]
    again = sqlite3.connect(home / "state.db")
    message(again, "s", "new")
    assert history.fingerprint() != mark
    assert contents(history) == [(b"new", False)]
    again.close()
    assert contents(history) == [(b"new", False)]


def test_a_database_that_was_replaced_is_opened_anew(hermes, home):
    session(hermes, "s")
    hermes.close()
    history = HermesHistory(home)
    assert len(history.sessions()) == 1
    other = sqlite3.connect(home / "other.db")
    other.executescript(SCHEMA)
    other.close()
    (home / "other.db").rename(home / "state.db")
    assert history.sessions() == []


def test_a_history_travels_to_another_process_as_a_path(hermes, home):
    session(hermes, "s")
    history = HermesHistory(home)
    history.sessions()
    assert [one.id for one in pickle.loads(pickle.dumps(history)).sessions()] == ["s"]


def test_what_is_not_there_and_what_is_no_database_is_said(home):
    with pytest.raises(SourceUnreadable, match="no database"):
        HermesHistory(home).sessions()
    (home / "state.db").write_bytes(b"this is not a database, it is a letter" * 100)
    with pytest.raises(StoreCorrupt, match="damaged"):
        HermesHistory(home).sessions()
