"""A store of any older version is brought up to date, whole, and works as a new one does."""

from pathlib import Path

import pytest

from sojourn.core.errors import StoreReadOnly
from sojourn.core.messages import Message, user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Listing, Record
from sojourn.stores.postgres import migrate as postgres
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import LOG_COLUMNS
from sojourn.stores.sql.rows import message_row
from sojourn.stores.sql.tables import TABLES
from sojourn.stores.sqlite import migrate as sqlite
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_steps import read_contents, read_table

OLD_SQLITE = [number for number, _, _ in sqlite.load_migrations()[:-1]]
FACETS_VERSION = 8
OLD_POSTGRES = [number for number, _, _ in postgres.load_migrations()[:-1]]


async def begin_in(store: SqliteStore | PostgresStore) -> None:
    """What every version could store: a session, an imported one, and words in them."""
    await store._write(insert_old_rows)
    await store.close()


def insert_old_rows(db: Db) -> None:
    said = message_row(user("kept for years"), str, now=1.0)
    called = message_row(Message(role="tool", content="ok", tool_name="terminal"), str, now=1.0)
    odd = message_row(Message(role="tool", content="ok", tool_name="a,b"), str, now=1.0)
    for row in (("old", "cli", "Garden", 1.0, 1.0, 1, 1), ("theirs", "telegram", None, 1.0, 1.0, 3, 3)):
        columns = "id, source, title, started_at, last_active, last_seq, message_count"
        db.execute(f"INSERT INTO sessions({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    values = ("hermes", "/h", "x", "theirs", "f", 1.0)
    columns = "source, source_home, source_id, session_id, fingerprint, at"
    db.execute(f"INSERT INTO imports({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
    rows = [("old", 1, said), ("theirs", 1, called), ("theirs", 2, called), ("theirs", 3, odd)]
    db.insert_messages(LOG_COLUMNS, ((session, seq, *row) for session, seq, row in rows))


async def works_like_new(store: SqliteStore | PostgresStore, newest: int, version: int) -> None:
    old = SessionId("old")
    assert {one.title for one in await store.find(Listing())} == {"Garden", None}
    facets = await store.count_facets(Listing())
    if version < FACETS_VERSION:  # since then whoever writes a session fills them
        assert (facets["program"], facets["tool"]) == ({"sojourn": 1, "hermes": 1}, {"terminal": 1})
    assert await read_contents(store, old) == ["kept for years"]
    assert (await store.verify()).clean
    assert (await store.stats()).schema == newest
    for table in TABLES:
        await read_table(store, table.name)
    await store.put_record(Record(kind="note", key="a", value=1, session=old))
    assert (await store.delete(old)).rows["records"] == 1
    await store.close()


@pytest.mark.parametrize("version", OLD_SQLITE)
async def test_a_sqlite_store_of_every_old_version_is_brought_up_to_date(home: Path, version: int) -> None:
    known = sqlite.load_migrations()
    await begin_in(SqliteStore(home / "state.db", migrations=known[:version]))
    await works_like_new(SqliteStore(home / "state.db"), known[-1][0], version)
    assert [copy.name for copy in (home / "backups").iterdir()], "a copy was put aside"


@pytest.mark.postgres
@pytest.mark.parametrize("version", OLD_POSTGRES)
async def test_a_postgres_store_of_every_old_version_is_brought_up_to_date(postgres_url: str, version: int) -> None:
    known = postgres.load_migrations()
    await begin_in(PostgresStore(postgres_url, migrations=known[:version]))
    await works_like_new(PostgresStore(postgres_url), known[-1][0], version)


def test_both_databases_count_their_versions_alike() -> None:
    assert [one[:2] for one in sqlite.load_migrations()] == [one[:2] for one in postgres.load_migrations()]
    assert [one[0] for one in sqlite.load_migrations()] == sorted({one[0] for one in sqlite.load_migrations()})


async def test_an_old_store_that_can_only_be_read_is_refused_with_the_reason(home: Path) -> None:
    await begin_in(SqliteStore(home / "state.db", migrations=sqlite.load_migrations()[:1]))
    store = SqliteStore(home / "state.db", read_only=True)
    with pytest.raises(StoreReadOnly, match="older"):
        await store.find(Listing())
    await store.close()
