"""A store moves from SQLite to PostgreSQL and back, and nothing changes on the way."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import BadConfig, Conflict, NotDriving
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import Message, user
from sojourn.ports.store import Listing, SearchQuery
from sojourn.stores.migrate import migrate as move
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore

pytestmark = pytest.mark.postgres
GOLDEN = Path(__file__).parents[1] / "data" / "golden"
SOJOURN = str(Path(sys.executable).with_name("sojourn"))


async def filled(home: Path) -> App:
    """A golden history, a session with events and odd characters, and an attachment."""
    hermes = home.parent / ".hermes"
    hermes.mkdir()
    (hermes / "state.db").write_bytes(gzip.decompress((GOLDEN / "tiny" / "state.db.gz").read_bytes()))
    app = App(config.load({"home": str(home)}))
    [found] = app.find_histories()
    assert (await app.import_history(found)).imported == 12
    session = await app.store.create(title="odd \x1a one")
    lease = await app.store.lease(session.id, holder="test", surface="cli")
    odd = Message(role="tool", content="a\0b\ud800", tool_name="x", timestamp=0.1 + 0.2)
    await app.store.append(lease, [user("hello"), odd, Chunk("hi"), Done()])
    await app.store.put_blob(session.id, b"\x00\xff", media_type="image/png", name="dot.png")
    return app


async def test_there_and_back_again_keeps_every_row(home: Path, postgres_url: str) -> None:
    app = await filled(home)
    there = PostgresStore(postgres_url)
    sent = await move(app.store, there)
    back = SqliteStore(home.parent / "back" / "state.db")
    returned = await move(there, back)
    assert [row for row in sent.rows if row[1]] == [row for row in returned.rows if row[1]]
    assert {name: count for name, count, _ in sent.rows}["messages"] == 362
    for store in (there, back):
        assert (await store.verify()).clean
        assert await store.find(Listing(limit=100)) == await app.store.find(Listing(limit=100))
        await store.index()
        for words in ("error", "hello", "the"):
            hits = await store.search(SearchQuery(text=words, limit=500))
            assert hits == await app.store.search(SearchQuery(text=words, limit=500))
    session = await there.resolve("odd one")
    with pytest.raises(NotDriving):  # the driver moved along
        await there.lease(session.id, holder="test", surface="web")
    await app.close()
    await there.close()
    await back.close()


async def test_a_store_that_is_not_empty_is_not_overwritten(home: Path, postgres_url: str) -> None:
    app = await filled(home)
    there = PostgresStore(postgres_url)
    await there.create(title="already here")
    with pytest.raises(Conflict):
        await move(app.store, there)
    assert [session.title for session in await there.find(Listing())] == ["already here"]
    await there.close()
    await app.close()


async def test_the_command_line_moves_and_then_works_on_the_new_store(home: Path, postgres_url: str) -> None:
    await (await filled(home)).close()
    moved = subprocess.run(
        [SOJOURN, "store", "migrate", "--to", postgres_url, "--json"], capture_output=True, text=True
    )
    assert moved.returncode == 0, moved.stderr
    listing = [SOJOURN, "--database-url", postgres_url, "--json", "sessions", "list"]
    listed = subprocess.run(listing, capture_output=True, text=True)
    assert len(json.loads(listed.stdout)) == 13, listed.stderr


async def test_a_copy_of_a_server_is_one_file_and_comes_back(home: Path, postgres_url: str) -> None:
    app = await filled(home)
    there = App(config.load({"home": str(home), "database_url": postgres_url}))
    await app.migrate(postgres_url)
    copy = await there.backup(home.parent / "copy.db")
    with pytest.raises(Conflict):  # never over what is there
        await there.restore(copy)
    elsewhere = App(config.load({"home": str(home.parent / "elsewhere")}))
    await elsewhere.restore(copy)
    assert await elsewhere.store.find(Listing(limit=99)) == await app.store.find(Listing(limit=99))
    for one in (app, there, elsewhere):
        await one.close()


async def test_forgetting_on_a_server_names_the_copies_in_the_home(home: Path, postgres_url: str) -> None:
    app = await filled(home)
    await app.migrate(postgres_url)
    await app.close()
    there = App(config.load({"home": str(home), "database_url": postgres_url}))
    (home / "backups").mkdir()
    copy = await there.backup(home / "backups")
    session = (await there.store.find(Listing(limit=1)))[0]
    removed = await there.forget(session.id)
    await there.close()
    assert removed.backups == (str(copy),)
    assert any("state.db in the home" in left for left in removed.remaining)


async def test_an_address_nobody_understands_is_refused(home: Path) -> None:
    app = App(config.load({"home": str(home)}))
    with pytest.raises(BadConfig):
        await app.migrate("mysql://somewhere/else")
    await app.close()
