"""Rows that no program should have written: the numbers are those of the original, and no scan ends there."""

from __future__ import annotations

import sqlite3

import pytest

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.scan import scan_sessions
from sojourn.achievements.snapshot import build_session_row
from sojourn.importers.hermes_history import HermesHistory
from tests.unit.achievements.worlds import BOOK, scanner

SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, title TEXT, model TEXT, started_at REAL,
    rewind_count INTEGER, archived INTEGER DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT,
    tool_name TEXT, timestamp REAL, active INTEGER DEFAULT 1);
CREATE INDEX by_session ON messages(session_id, active, timestamp);
INSERT INTO sessions (id, started_at) VALUES ('s', 5.0);
"""


@pytest.fixture
def hermes(tmp_path):
    db = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    db.executescript(SCHEMA)
    yield db
    db.close()


@pytest.fixture
def history(hermes, tmp_path):
    made = HermesHistory(tmp_path)
    yield made
    made.close()


def say(db, content, timestamp=1.0, **columns):
    names = ["session_id", "role", "content", "timestamp", *columns]
    marks = ", ".join("?" * len(names))
    db.execute(
        f"INSERT INTO messages ({', '.join(names)}) VALUES ({marks})",
        ["s", "user", content, timestamp, *columns.values()],
    )


def scanned(history):
    return scan_sessions(history, BOOK, workers=1, scanner=scanner)


def problems(result):
    return SessionAggregate(BOOK, result.records).problems


def numbers(history):
    (record,) = scanned(history).records
    return build_session_row(BOOK, record, "")


def test_structured_content_that_is_a_mere_string_counts_as_that_string(hermes, history):
    say(hermes, '\0json:"a\\nskill \\ud800 ./é.py"')
    say(hermes, "background")
    say(hermes, "\0json:null")
    say(hermes, "=true")
    found = numbers(history)
    assert (found["skill_events"], found["files_touched_count"], found["process_calls"]) == (1, 1, 1)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_calls_that_are_stored_as_bytes_are_read_in_their_encoding(encoding, hermes, history):
    say(hermes, "a", tool_calls='[{"name": "terminal", "a": "./b/a.py", "ü": 1}]'.encode(encoding))
    say(hermes, "b", tool_calls=b"\xff\xfe[")
    found = numbers(history)
    assert (found["terminal_calls"], found["files_touched_count"]) == (1, 1)


def test_content_nested_deeper_than_we_can_read_is_reported(hermes, history):
    say(hermes, "\0json:" + "[" * 5000 + '"error"' + "]" * 5000)
    say(hermes, "error")
    result = scanned(history)
    assert problems(result) == 1
    assert numbers(history)["error_count"] == 2


def test_no_nesting_of_tool_calls_ends_a_scan(hermes, history):
    for depth in range(900, 1010, 2):
        say(hermes, "x", tool_calls="[" * depth + '"./a.py \\u002e"' + "]" * depth)
    assert problems(scanned(history)) > 0


def test_a_message_from_the_beginning_of_time_is_the_last_one(hermes, history):
    say(hermes, "x", timestamp=0.0)
    assert numbers(history)["last_active"] == 0.0


@pytest.mark.parametrize(("written", "shown"), [("soon", "soon"), ("", ""), (None, None), (-1e300, -1e300)])
def test_a_start_that_is_no_time_is_shown_as_it_is(hermes, history, written, shown):
    hermes.execute("UPDATE sessions SET started_at = ?", [written])
    result = scanned(history)
    assert (result.records[0].facts.started_at, result.records[0].facts.last_active) == (shown, shown)
    assert problems(result) == isinstance(written, str)


def test_whether_a_session_is_archived_must_be_known(hermes, history):
    hermes.execute("UPDATE sessions SET archived = NULL")
    assert scanned(history).records == []


@pytest.mark.parametrize("column", ["id", "title", "model", "source"])
def test_a_session_with_invalid_letters_is_counted_and_reported(hermes, history, column):
    hermes.execute(f"UPDATE sessions SET {column} = CAST(X'ff41' AS TEXT), rewind_count = 'often'")
    result = scanned(history)
    assert (len(result.records), problems(result)) == (1, 1)


def test_rows_of_a_session_with_invalid_letters_do_not_end_a_later_listing(hermes, history):
    history.sessions()
    hermes.execute("INSERT INTO messages (session_id, role, timestamp) VALUES (CAST(X'ff41' AS TEXT), 'user', 1.0)")
    assert [one.id for one in history.sessions()] == ["s"]


def test_a_tool_name_with_invalid_letters_is_reported(hermes, history):
    say(hermes, "x")
    hermes.execute("UPDATE messages SET tool_name = CAST(X'ff41' AS TEXT)")
    assert problems(scanned(history)) == 1
