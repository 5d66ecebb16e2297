"""What happens to a store of an older version: its writers stop, and its index is completed behind the scenes."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from sojourn.core.errors import StoreNewer
from sojourn.core.messages import user
from sojourn.core.sessions import SessionId
from sojourn.stores.postgres.migrate import load_migrations as load_postgres_migrations
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sql.migrations import Migration
from sojourn.stores.sqlite.migrate import load_migrations
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_steps import begin, find_hits
from sojourn.text.tokenizer import extract_terms

OpenStores = Callable[[], tuple[SqliteStore | PostgresStore, SqliteStore | PostgresStore]]
COUNTS_MIGRATION = 10


def list_old_migrations(count: int) -> list[Migration]:
    """The first migrations, with the column of later ones that every statement names; `drop_new_column` removes it."""
    *older, (number, name, sql) = load_migrations()[:count]
    return [*older, (number, name, f"{sql}\nALTER TABLE sessions ADD COLUMN machine TEXT;\n")]


def drop_new_column(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as opened:
        opened.execute("ALTER TABLE sessions DROP COLUMN machine")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_stores(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStores:
    """An old store, and the same one as a newer version opens it."""

    def open_both() -> tuple[SqliteStore | PostgresStore, SqliteStore | PostgresStore]:
        if request.param == "sqlite":
            later = [*load_migrations(), (998, "later", "CREATE TABLE later(x);\n")]
            return SqliteStore(tmp_path / "state.db"), SqliteStore(tmp_path / "state.db", migrations=later)
        url = request.getfixturevalue("databases")()
        later = [*load_postgres_migrations(), (998, "later", "CREATE TABLE later(x INTEGER)")]
        return PostgresStore(url), PostgresStore(url, migrations=later)

    return open_both


async def test_every_kind_of_write_is_refused_after_an_upgrade(open_stores: OpenStores) -> None:
    old, new = open_stores()
    try:
        session = await old.create(title="before")
        lease = await old.lease(session.id, holder="old", surface="cli")
        await old.append(lease, [user("one")])
        await old.append(lease, [user("two")])  # from here on by the fast path
        await new.create(title="after")  # upgrades
        for write in (old.append(lease, [user("three")]), old.create(title="x"), old.renew(lease)):
            with pytest.raises(StoreNewer, match="newer Sojourn"):
                await write
        assert (await new.get(session.id)).message_count == 2
    finally:
        await old.close()
        await new.close()


TEXTS = [f"We decided on pump {n}, and the valves were ordered" for n in range(600)]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def old_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteStore | PostgresStore]:
    """A store whose index was filled by a version that knew neither stems nor pairs of words."""
    url = request.getfixturevalue("databases")() if request.param == "postgres" else ""
    path = tmp_path / "state.db"
    if url:  # an earlier test may have left a store of a later version
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    made = PostgresStore(url) if url else SqliteStore(path, migrations=list_old_migrations(8))
    session = await made.create()
    lease = await made.lease(session.id, holder="old", surface="cli")
    await made.append(lease, [user(text) for text in TEXTS])
    await made.renew(lease, 0)
    await made.close()
    if url:
        with psycopg.connect(url, autocommit=True) as connection:
            for id, text in connection.execute("SELECT id, content FROM messages").fetchall():
                words = " ".join(f"'{term}'" for term in extract_terms(text))
                connection.execute("UPDATE messages SET terms = %s::tsvector WHERE id = %s", (words, id))
            connection.execute("DELETE FROM schema_migrations WHERE number > 8")
            connection.execute("ALTER TABLE sessions DROP COLUMN machine")
            connection.execute("UPDATE meta SET value = '1' WHERE key = 'terms_version'")
    else:
        with closing(sqlite3.connect(path, isolation_level=None)) as opened:
            rows = opened.execute("SELECT id, content FROM messages").fetchall()
            opened.execute("INSERT INTO search_index(search_index) VALUES ('delete-all')")
            words_of = [(id, " ".join(sorted(extract_terms(text)))) for id, text in rows]
            opened.executemany("INSERT INTO search_index(rowid, terms) VALUES (?, ?)", words_of)
            opened.execute("DELETE FROM meta WHERE key = 'underived_to'")
            opened.execute("UPDATE meta SET value = ? WHERE key = 'indexed_to'", (f"1:{rows[-1][0]}",))
        drop_new_column(path)
    store = PostgresStore(url) if url else SqliteStore(path)
    yield store
    await store.close()


async def test_an_old_index_works_while_it_is_completed(old_store: SqliteStore | PostgresStore) -> None:
    assert len(await find_hits(old_store, '"pump 42"')) == 1
    assert len(await find_hits(old_store, "valves pump", limit=1000)) == len(TEXTS)
    session = await begin(old_store, "and one more pump while that goes on")
    assert (await find_hits(old_store, "pump"))[0] == (session, 1)
    progress: list[tuple[int, int]] = []
    await old_store.index(lambda done, of: progress.append((done, of)))
    assert (await old_store.stats()).not_indexed == 0
    assert await find_hits(old_store, '"pump 42"') == await find_hits(old_store, '"pump 42, and the"')
    assert len(await find_hits(old_store, "deciding valve", order="relevance", limit=1000)) == len(TEXTS)
    assert await find_hits(old_store, '"valves pump"') == []
    assert await old_store.index() == 0
    assert (await old_store.verify()).clean


async def test_a_session_is_forgotten_while_its_index_is_completed(old_store: SqliteStore | PostgresStore) -> None:
    hits = await find_hits(old_store, "pump", limit=1)
    await old_store.delete(SessionId(hits[0][0]))
    await old_store.index()
    for order in ("newest", "relevance"):
        assert await find_hits(old_store, "pump", order=order) == []


async def test_rows_of_an_older_version_are_counted_once_and_a_wrong_counter_is_found(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    old = SqliteStore(path, migrations=list_old_migrations(COUNTS_MIGRATION - 1))
    await begin(old, "one")
    await begin(old, "two", source="web")
    await old.close()
    drop_new_column(path)
    store = SqliteStore(path)
    try:
        await begin(store, "three")
        stats = await store.stats(by_part=False)
        assert (stats.messages, stats.sessions_by_source, stats.bytes_by) == (3, {"cli": 2, "web": 1}, {})
        assert (await store.verify()).clean
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE counts SET n = n + 1 WHERE name = 'messages'")
            connection.commit()
        assert "counters" in (await store.verify()).problems[0]
    finally:
        await store.close()


async def test_stems_of_more_languages_are_added_to_an_index_that_lacks_them(
    open_stores: OpenStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, _ = open_stores()
    with monkeypatch.context() as before:
        before.setattr("sojourn.text.tokenizer.detect_language", lambda _: "")
        first, second = [await begin(old, "Wir haben die Häuser gestrichen, und das ist gut.") for _ in range(2)]
        await old.index()
    await old.close()
    if isinstance(old, SqliteStore):
        with closing(sqlite3.connect(old.path, isolation_level=None)) as opened:
            opened.execute("UPDATE meta SET value = '2' || substr(value, 2) WHERE key = 'indexed_to'")
    else:
        with psycopg.connect(old.url, autocommit=True) as connection:
            connection.execute("UPDATE meta SET value = '2' WHERE key = 'terms_version'")
    now = type(old)(old.path) if isinstance(old, SqliteStore) else PostgresStore(old.url)
    monkeypatch.delattr("sojourn.stores.postgres.maintenance.rebuild_terms")  # a search does not wait for all rows
    assert {session for session, _ in await find_hits(now, "Häuser", order="relevance")} == {first, second}
    await now.delete(first)
    await now.index()
    assert [session for session, _ in await find_hits(now, "Haus", order="relevance")] == [second]
    await now.delete(second)
    assert (await now.verify()).clean
    await now.close()
