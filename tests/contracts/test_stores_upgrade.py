"""A process of an older version writes nothing after a newer one has upgraded the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.core.errors import StoreNewer
from sojourn.core.messages import user
from sojourn.stores.postgres.migrate import load_migrations as load_postgres_migrations
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.migrate import load_migrations
from sojourn.stores.sqlite.store import SqliteStore

OpenStores = Callable[[], tuple[SqliteStore | PostgresStore, SqliteStore | PostgresStore]]


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
