"""Many waiting rows are split into terms by a process of their own: the index is the same, whatever happens to it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.core.sessions import SessionId
from sojourn.processes.limited_worker import LimitedWorker, LimitExceeded
from sojourn.stores.sqlite import index, indexer
from sojourn.stores.sqlite.connect import connect
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.stores.sqlite.term_reader import TermReader
from sojourn.testing.store_steps import begin, find_hits
from sojourn.text.redaction import no_redaction

ROWS = index.BATCH_ROWS * 2 + 5
CALL = ToolCall(id="c1", name="read_file", arguments='{"path": "pump.txt"}')


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    """A store whose rows wait to be indexed."""
    monkeypatch.setattr(indexer, "MIN_ROWS", index.BATCH_ROWS)
    made = SqliteStore(tmp_path / "state.db")
    items = [user(f"pump number {n} \ud800") for n in range(ROWS)]
    await begin(made, *items, assistant("", [CALL]), tool_result(CALL, "valves\0"))
    await made.close()
    with closing(sqlite3.connect(made.path)) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'indexed_to'")
        connection.commit()
    opened = SqliteStore(made.path)
    yield opened
    await opened.close()


def split(entries: index.Entries) -> list[tuple[int, set[str]]]:
    return [(id, set(terms.split())) for id, terms in entries]


async def test_what_is_read_ahead_is_what_the_store_reads_itself(store: SqliteStore) -> None:
    with closing(connect(store.path, read_only=True)) as connection, TermReader(store.path) as reader:
        db, after, count = SqliteDb(connection, no_redaction), 0, 0
        while found := reader.read(after):
            assert split(found) == split(index.read_rows(db, after))
            count, after = count + len(found), found[-1][0]
    assert count == ROWS + 2


async def test_many_waiting_rows_are_found_afterwards(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, call = list[Any](), LimitedWorker.call

    def note(worker: LimitedWorker, *args: Any, **given: Any) -> Any:
        calls.append(args)
        return call(worker, *args, **given)

    monkeypatch.setattr(LimitedWorker, "call", note)
    assert await store.index() == ROWS + 2
    assert len(calls) >= ROWS // index.BATCH_ROWS
    assert len(await find_hits(store, "pump", limit=1000)) == ROWS + 1
    assert len(await find_hits(store, '"number 42"')) == 1
    assert len(await find_hits(store, "valves", tool="read_file")) == 1


async def test_a_process_that_ends_costs_no_row(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*args: object, **given: object) -> None:
        raise LimitExceeded("the process that read it ended")

    monkeypatch.setattr(LimitedWorker, "call", end)
    assert await store.index() == ROWS + 2
    assert len(await find_hits(store, "pump", limit=1000)) == ROWS + 1


async def test_a_session_that_goes_while_its_rows_are_read_leaves_no_terms(store: SqliteStore) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        db = SqliteDb(connection, no_redaction)
        state, entries = index.read_state(db), index.read_rows(db, 0)
        gone = connection.execute("SELECT session_id FROM messages LIMIT 1").fetchone()[0]
        await store.forget(SessionId(gone))
        index.insert_terms(db, state, entries)
        found = connection.execute("SELECT count(*) FROM search_index WHERE search_index MATCH 'pump'").fetchone()[0]
    assert found == 0
