"""What an older version kept is redacted and folded by the upgrade, and is in no file afterwards."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys

import pytest

from sojourn.core.events import Chunk
from sojourn.core.messages import user
from sojourn.stores.sql import kept_secrets
from sojourn.stores.sql.log import LOG_COLUMNS
from sojourn.stores.sql.rows import message_row
from sojourn.stores.sqlite.migrate import load_migrations
from sojourn.stores.sqlite.store import SqliteStore

KEY = "sk-proj-" + "Ab1" * 12
TEXT = f"It is this {KEY} and more text."


def insert_old_session(db, session):
    """As every version could store it; the store of today knows columns that the old one has not."""
    columns = "id, source, started_at, last_active, last_seq, message_count"
    db.execute(f"INSERT INTO sessions({columns}) VALUES (?, 'cli', 1.0, 1.0, 1, 1)", (session,))
    db.insert_messages(LOG_COLUMNS, [(session, 1, *message_row(user("hello"), str, now=1.0))])


@pytest.fixture
async def old(home):
    """A store as an older version left it: a secret in pieces, in a title, in a name and in a key."""
    path = home / "state.db"
    store = SqliteStore(path, migrations=[one for one in load_migrations() if one[0] < 6])
    session, other = "20260101_000000_00000001", "20260101_000000_00000002"
    await store._write(lambda db: insert_old_session(db, session))
    await store._write(lambda db: insert_old_session(db, other))
    await store.close()
    made = sqlite3.connect(path)
    pieces = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
    rows = [(session, n, "t1", "chunk", json.dumps({"text": piece}), 1.0) for n, piece in enumerate(pieces, 11)]
    rows.append((session, 90, "t1", "done", "{}", 1.0))
    for n, piece in enumerate(pieces, 100):
        data = {"stage": "thinking", "detail": {"text": piece}}
        rows.append((session, n, "t2", "progress", json.dumps(data), 1.0))
    made.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    made.execute("UPDATE sessions SET last_seq = 500, title = ? WHERE id = ?", (f"use {KEY}", session))
    made.execute("UPDATE sessions SET title = ? WHERE id = ?", (f"use {KEY}X", other))
    made.execute("INSERT INTO blobs VALUES ('h1', 'text/plain', x'00', 1.0)")
    made.executemany("INSERT INTO blob_uses VALUES (?, 'h1', ?)", [(session, f"{KEY}.txt"), (session, f"{KEY}Z.txt")])
    made.execute(
        "INSERT INTO records(kind, key, value, session_id, created_at, updated_at) "
        "VALUES ('idempotency', ?, '{}', ?, 1.0, 1.0)",
        (f"{session}/{KEY}", session),
    )
    made.commit()
    made.close()
    return session


def read_files(home):
    return b"".join(file.read_bytes() for file in home.glob("state.db*"))


async def test_the_upgrade_leaves_no_secret_in_the_store(home, old):
    assert b"Ab1Ab" in read_files(home)
    store = SqliteStore(home / "state.db")
    kept = [one async for one in store.read(old)]
    sessions = [(await store.get(old)).title]
    await store.close()
    texts = [one.item.text for one in kept if isinstance(one.item, Chunk)]
    assert texts == ["It is this [redacted:api-key] and more text."]
    thoughts = [one.item.detail["text"] for one in kept if getattr(one.item, "stage", "") == "thinking"]
    assert "".join(thoughts) == texts[0]
    assert "[redacted:api-key]" in sessions[0]
    assert b"Ab1Ab" not in read_files(home)
    assert b"sk-proj" not in read_files(home)


async def test_a_reader_of_the_old_log_goes_on_where_it_was(home, old):
    store = SqliteStore(home / "state.db")
    whole = "It is this [redacted:api-key] and more text."
    rests = []
    for after in (0, 11, 12, 15, 18):
        kept = [one.item.text async for one in store.read(old, after=after) if isinstance(one.item, Chunk)]
        rests.append("".join(kept))
    await store.close()
    assert rests[0] == whole
    assert all(whole.endswith(rest) for rest in rests)
    assert [len(rest) for rest in rests] == sorted((len(rest) for rest in rests), reverse=True)
    assert rests[2] == whole[len("It is this") :]


async def test_an_idempotency_key_from_before_is_found_under_its_hash(home, old):
    store = SqliteStore(home / "state.db")
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    assert await store.get_record("idempotency", f"{old}/{digest}") is not None
    await store.close()


async def test_a_killed_upgrade_goes_on_where_it_was(home, old, monkeypatch):
    calls = 0
    redact_next = kept_secrets._redact_next

    def die_in_the_middle(db):
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return redact_next(db)

    monkeypatch.setattr(kept_secrets, "_redact_next", die_in_the_middle)
    with pytest.raises(KeyboardInterrupt):
        SqliteStore(home / "state.db")._open()
    monkeypatch.undo()
    store = SqliteStore(home / "state.db")
    await store.get(old)
    await store.close()
    assert b"Ab1Ab" not in read_files(home)
    made = sqlite3.connect(home / "state.db")
    state = json.loads(made.execute("SELECT value FROM meta WHERE key = 'redaction'").fetchone()[0])
    [mode] = made.execute("PRAGMA auto_vacuum").fetchone()
    made.close()
    assert "after" not in state
    assert state["found"] >= 5
    assert mode == 2


def test_doctor_says_how_many_secrets_were_found(home, old):
    env = {**os.environ, "SOJOURN_HOME": str(home)}
    ran = subprocess.run(
        [sys.executable, "-m", "sojourn", "doctor", "--json"],
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
        check=False,
    )
    [told] = [one for one in json.loads(ran.stdout) if one["check"] == "secrets"]
    assert "found and redacted" in told["detail"]
    assert "backups" in told["hint"]
