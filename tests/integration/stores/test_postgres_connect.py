"""Reaching a PostgreSQL database, or being told why not."""

import asyncio
import subprocess
import sys
import time

import psycopg
import pytest

from sojourn.core.errors import SojournError, StoreCorrupt, StoreForeign, StoreNewer, StoreReadOnly, StoreUnavailable
from sojourn.core.messages import assistant
from sojourn.ports.store import Listing, SearchQuery
from sojourn.stores.postgres.migrate import load_migrations
from sojourn.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.postgres


def sql(url: str, *statements: str) -> list[tuple]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            answer = connection.execute(statement.encode())
        return answer.fetchall() if answer.description else []


async def refused(url: str, kind: type[SojournError]) -> SojournError:
    """Listing raises, and health says the same without raising."""
    store = PostgresStore(url)
    with pytest.raises(kind) as caught:
        await store.find(Listing())
    health = await store.health()
    await store.close()
    assert (health.state, health.code, health.readable) == ("degraded", caught.value.code, False)
    assert health.hint
    return caught.value


async def test_four_stores_may_start_at_once_on_an_empty_database(postgres_url):
    stores = [PostgresStore(postgres_url) for _ in range(4)]
    await asyncio.gather(*(store.create(title=f"garden {n}") for n, store in enumerate(stores)))
    assert len(await stores[0].find(Listing())) == 4
    numbers = [(number,) for number, _, _ in load_migrations()]
    assert sql(postgres_url, "SELECT number FROM schema_migrations ORDER BY 1") == numbers
    await asyncio.gather(*(store.close() for store in stores))


def test_four_processes_may_start_at_once_on_an_empty_database(postgres_url):
    code = (
        "import asyncio, sys; from sojourn.stores.postgres.store import PostgresStore\n"
        "async def main():\n"
        "    store = PostgresStore(sys.argv[1])\n"
        "    await store.create(); await store.close()\n"
        "asyncio.run(main())"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, postgres_url]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0, 0]
    assert sql(postgres_url, "SELECT count(*) FROM sessions") == [(4,)]


@pytest.mark.parametrize("table", ["sessions", "messages", "schema_migrations"])
async def test_another_programs_database_is_left_alone(postgres_url, table):
    sql(postgres_url, f"CREATE TABLE {table}(version TEXT)")
    error = await refused(postgres_url, StoreForeign)
    assert "another program" in str(error)
    assert sql(postgres_url, "SELECT relname FROM pg_stat_user_tables") == [(table,)]


async def test_a_database_with_other_tables_may_be_shared(postgres_url):
    sql(postgres_url, "CREATE TABLE recipes(name TEXT)")
    store = PostgresStore(postgres_url)
    assert await store.find(Listing()) == []
    await store.close()


async def test_a_newer_schema_is_left_alone(postgres_url):
    store = PostgresStore(postgres_url)
    await store.create()
    await store.close()
    sql(postgres_url, "INSERT INTO schema_migrations VALUES (99, 'future', 0)")
    error = await refused(postgres_url, StoreNewer)
    assert "99" in str(error)


async def test_a_migration_that_loses_rows_is_undone(postgres_url):
    store = PostgresStore(postgres_url)
    await store.create()
    await store.close()
    bad = [*load_migrations(), (99, "bad", "DELETE FROM sessions; CREATE TABLE extra(x TEXT)")]
    store = PostgresStore(postgres_url, migrations=bad)
    with pytest.raises(StoreCorrupt):
        await store.find(Listing())
    await store.close()
    assert sql(postgres_url, "SELECT count(*) FROM sessions") == [(1,)]
    assert sql(postgres_url, "SELECT to_regclass('extra')") == [(None,)]


async def test_a_migration_is_applied_once(postgres_url):
    store = PostgresStore(postgres_url)
    await store.create()
    await store.close()
    more = [*load_migrations(), (99, "more", "ALTER TABLE sessions ADD COLUMN mood TEXT; CREATE TABLE extra(x TEXT)")]
    for _ in range(2):
        store = PostgresStore(postgres_url, migrations=more)
        assert len(await store.find(Listing())) == 1
        assert (await store.stats()).schema == 99
        await store.close()


async def test_a_server_that_is_not_there_is_said_at_once():
    begun = time.monotonic()
    error = await refused("postgresql://ann:hunter2@127.0.0.1:1/work", StoreUnavailable)
    assert time.monotonic() - begun < 3
    assert "server runs" in error.hint
    assert "hunter2" not in str(error) + error.hint


async def test_a_missing_database_is_named(postgres_server):
    error = await refused(postgres_server.replace("/postgres?", "/nope?"), StoreUnavailable)
    assert "nope" in str(error)
    assert "createdb" in error.hint


async def test_a_database_that_can_only_be_read_is_read(postgres_url):
    store = PostgresStore(postgres_url)
    session = await store.create(title="garden")
    await store.close()
    (name,) = sql(postgres_url, "SELECT current_database()")[0]
    sql(postgres_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = PostgresStore(postgres_url)
    assert [found.id for found in await store.find(Listing())] == [session.id]
    with pytest.raises(StoreReadOnly):
        await store.create()
    assert (await store.health()).state == "read-only"
    await store.close()


async def test_a_database_that_can_be_read_but_takes_no_writes_is_unhealthy(postgres_url, monkeypatch):
    monkeypatch.setattr("sojourn.stores.postgres.store._PROBE_SECONDS", 0.0)
    store = PostgresStore(postgres_url)
    assert (await store.health()).state == "healthy"
    sql(
        postgres_url,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$",
        "CREATE TRIGGER fail BEFORE UPDATE ON schema_migrations FOR EACH ROW EXECUTE FUNCTION fail()",
    )
    health = await store.health()
    assert (health.state, health.readable) == ("degraded", True)
    assert health.code
    sql(postgres_url, "DROP TRIGGER fail ON schema_migrations")
    assert (await store.health()).state == "healthy"
    await store.close()


async def test_a_user_without_rights_is_told_which(postgres_url):
    (name,) = sql(postgres_url, "SELECT current_database()")[0]
    sql(postgres_url, f"CREATE ROLE u_{name} LOGIN")
    try:
        error = await refused(postgres_url.replace("postgres:", f"u_{name}:", 1), StoreUnavailable)
        assert "GRANT" in error.hint
    finally:
        sql(postgres_url, f"DROP ROLE u_{name}")


async def test_terms_of_another_tokenizer_are_made_anew(postgres_url):
    store = PostgresStore(postgres_url)
    session = await store.create()
    lease = await store.lease(session.id, holder="test", surface="cli")
    await store.append(lease, [assistant(f"tulip {n}") for n in range(300)])
    await store.close()
    sql(postgres_url, "UPDATE meta SET value = '0' WHERE key = 'terms_version'", "UPDATE messages SET terms = 'old'")
    store = PostgresStore(postgres_url)
    assert (await store.stats()).not_indexed == 300
    assert len(await store.search(SearchQuery(text="tulip", limit=500))) == 300
    assert (await store.stats()).not_indexed == 0
    assert await store.index() == 0
    await store.close()
