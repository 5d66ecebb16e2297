"""Whatever Hermes does between two comparisons, running or closed, the next one equals a first listing."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import replace
from itertools import count

import pytest

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.scan import scan_sessions
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.importers.hermes_history import HermesHistory
from sojourn.ports.history import HistoryChanges
from tests.unit.achievements.worlds import BOOK, scanner

# As in Hermes, a long text stands before what changes, and messages are indexed for search.
SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, system_prompt TEXT, started_at REAL NOT NULL,
    message_count INTEGER DEFAULT 0, title TEXT, rewind_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT,
    tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1);
CREATE INDEX by_session ON messages(session_id, active, timestamp);
CREATE UNIQUE INDEX by_title ON sessions(title) WHERE title IS NOT NULL;
CREATE VIRTUAL TABLE found USING fts5(content);
CREATE TRIGGER kept AFTER INSERT ON messages BEGIN INSERT INTO found(rowid, content) VALUES (new.id, new.content); END;
CREATE TRIGGER lost AFTER DELETE ON messages BEGIN DELETE FROM found WHERE rowid = old.id; END;
"""  # noqa: E501
TEXTS = ["error in codex", "git", "push", "./a.py " * 40, "word " * 900, "typo: permission denied", ""]


class Hermes:
    """A Hermes that lives dangerously."""

    def __init__(self, path, seed):
        self.path, self.random, self.numbers = path, random.Random(seed), count(1)
        self.db = self.opened()
        self.db.executescript(SCHEMA)
        for _ in range(12):
            self.begin()

    def opened(self):
        db = sqlite3.connect(self.path, isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=OFF")
        return db

    def some(self):
        found = [row[0] for row in self.db.execute("SELECT id FROM sessions")]
        return self.random.choice(found) if found else ""

    def begin(self):
        session = f"s{next(self.numbers)}"
        prompt = "You are. " * self.random.choice([1, 900, 3000])
        self.db.execute(
            "INSERT INTO sessions (id, source, model, system_prompt, started_at) VALUES (?, 'cli', 'm-1', ?, ?)",
            (session, prompt, self.random.choice([1.0, 2.0, 3.5])),
        )
        for _ in range(self.random.randrange(4)):
            self.say(session)

    def say(self, session=None):
        session = session or self.some()
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
            (session, self.random.choice(TEXTS), self.random.random() * 100),
        )
        self.db.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (session,))
        self.db.execute(self.random.choice(["COMMIT"] * 9 + ["ROLLBACK"]))

    def rewind(self):
        session = self.some()
        self.db.execute("UPDATE messages SET active = 0 WHERE session_id = ? AND id % 2", (session,))
        self.db.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?", (session,))

    def restore(self):
        self.db.execute("UPDATE messages SET active = 1 WHERE session_id = ?", (self.some(),))

    def archive(self):
        self.db.execute("UPDATE sessions SET archived = 1 - archived WHERE id = ?", (self.some(),))

    def rename(self):
        self.db.execute("UPDATE sessions SET title = ? WHERE id = ?", (f"title {next(self.numbers):06}", self.some()))

    def another_model(self):
        self.db.execute("UPDATE sessions SET model = ? WHERE id = ?", (f"m-{self.random.choice('1234')}", self.some()))

    def delete(self):
        session = self.some()
        self.db.execute("DELETE FROM messages WHERE session_id = ?", (session,))
        self.db.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def replace(self):
        session = self.some()
        self.db.execute("DELETE FROM messages WHERE session_id = ?", (session,))
        for _ in range(3):
            self.say(session)

    def checkpoint(self):
        self.db.execute(f"PRAGMA wal_checkpoint({self.random.choice(['PASSIVE', 'RESTART', 'TRUNCATE'])})")

    def close_and_open(self):
        self.db.close()
        self.db = self.opened()

    def vacuum(self):
        self.db.execute("VACUUM")

    def do(self):
        often = [self.say] * 6 + [self.begin, self.rewind, self.restore, self.archive, self.rename, self.another_model]
        self.random.choice([*often, self.delete, self.replace, self.checkpoint, self.close_and_open])()
        if self.random.random() < 0.01:
            self.vacuum()


def told(history, known):
    """What a history that is asked for changes says by now."""
    changes = history.changes()
    if changes is None:
        return {facts.id: facts for facts in history.sessions()}
    now = known | {facts.id: facts for facts in changes.facts}
    return {id_: facts for id_, facts in now.items() if id_ not in changes.gone}


@pytest.mark.parametrize("seed", range(6))
def test_changes_add_up_to_what_a_first_list_tells(seed, tmp_path):
    hermes, path = Hermes(tmp_path / "state.db", seed), tmp_path
    history, known = HermesHistory(path), {}
    for _ in range(25):
        for _ in range(hermes.random.randrange(4)):
            hermes.do()
        known = told(history, known)
        fresh = HermesHistory(path)
        assert known == {facts.id: facts for facts in fresh.sessions()}
        fresh.close()
    history.close()
    hermes.db.close()


@pytest.mark.parametrize("seed", range(4))
def test_a_job_that_goes_on_counts_as_one_that_begins(seed, tmp_path):
    hermes = Hermes(tmp_path / "state.db", 100 + seed)
    history = HermesHistory(tmp_path)
    job = ScanJob(history, FolderStore(tmp_path / "documents"), BOOK, ScanSettings(workers=1), scanner)
    for _ in range(15):
        for _ in range(hermes.random.randrange(4)):
            hermes.do()
        outcome = job.run()
        fresh = HermesHistory(tmp_path)
        there = scan_sessions(fresh, BOOK, workers=1, scanner=scanner).records
        assert list(outcome.records) == there
        assert outcome.snapshot["aggregate"] == SessionAggregate(BOOK, there).totals()
        assert outcome.snapshot["scan_meta"]["sessions_total"] == len(there)
        fresh.close()
    history.close()
    hermes.db.close()


def test_a_look_that_was_thrown_away_takes_nothing_with_it(tmp_path, monkeypatch):
    """A file that changed while it was read is read again, and what the first reading found is still news."""
    hermes, history = Hermes(tmp_path / "state.db", 1), HermesHistory(tmp_path)
    history.sessions()
    hermes.say()
    answers = iter([True, False])  # opened as it was; changed by the time the answer is there
    monkeypatch.setattr(type(history._file), "_is_unchanged", lambda self: next(answers, True))
    assert history.changes() is None  # whoever asks has to list them all
    assert history.sessions() == HermesHistory(tmp_path).sessions()
    assert history.changes() == HistoryChanges(())
    hermes.db.close()
    history.close()


def test_an_older_copy_that_was_put_back_and_has_grown_since_is_noticed(tmp_path):
    """As many rows as before and more: only what stands in them tells that they are others."""
    path = tmp_path / "state.db"
    hermes, history = Hermes(path, 1), HermesHistory(tmp_path)
    hermes.db.close()
    copy = path.read_bytes()

    def says(session, times):
        db = hermes.opened()
        for at in range(times):
            db.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'error', ?)",
                (session, 500.0 + at + len(session)),
            )
        db.close()

    says("s1", 3)
    history.sessions()
    path.write_bytes(copy)
    says("s10", 4)
    assert history.sessions() == HermesHistory(tmp_path).sessions()
    history.close()


def test_each_step_of_hermes_changes_one_session_and_summarises_no_others(tmp_path, monkeypatch):
    hermes, history = Hermes(tmp_path / "state.db", 1), HermesHistory(tmp_path)
    history.sessions()
    monkeypatch.setattr(history, "_queries", replace(history._queries, sessions=_without_full_summaries(history)))
    for step in (hermes.say, hermes.begin, hermes.rewind, hermes.archive, hermes.rename, hermes.restore):
        step()
        assert len(history.changes().facts) <= 1
    hermes.db.close()
    history.close()


def _without_full_summaries(history):
    return replace(history._queries.sessions, summaries="SELECT this_must_not_be_asked")
