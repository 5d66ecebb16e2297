"""What a store says to files that are not as they should be. Unreadable never looks like empty."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.core.errors import (
    SojournError,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreNewer,
    StoreReadOnly,
)
from sojourn.core.messages import Message, user
from sojourn.core.sessions import Session
from sojourn.ports.store import Listing, SearchQuery
from sojourn.stores.sqlite.store import SqliteStore

SOJOURN = Path(sys.executable).with_name("sojourn")


@pytest.fixture
async def filled(home: Path) -> Path:
    """A store with one session of fifty messages, closed again."""
    home.mkdir()
    store = SqliteStore(home / "state.db")
    await write(store, 50)
    await store.close()
    return home / "state.db"


async def write(store: SqliteStore, count: int, text: str = "the quick brown fox") -> Session:
    session = await store.create(title=f"garden {count}")
    lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)
    for start in range(0, count, 1000):
        await store.append(lease, [user(f"{text} {n}") for n in range(start, min(count, start + 1000))])
    await store.renew(lease, 0)
    return session


async def refused(path: Path, kind: type[SojournError]) -> SojournError:
    """Listing raises, health says the same, and the file is left as it was."""
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(kind) as caught:
        await store.find(Listing())
    health = await store.health()
    await store.close()
    assert (health.state, health.code, health.readable) == ("degraded", caught.value.code, False)
    assert health.error == str(caught.value)
    assert health.hint
    assert path.read_bytes() == before
    return caught.value


async def test_an_empty_file_is_not_an_empty_store(home: Path) -> None:
    home.mkdir()
    (home / "state.db").write_bytes(b"")
    assert "empty file" in str(await refused(home / "state.db", StoreCorrupt))


async def test_a_text_file_is_not_a_store(home: Path) -> None:
    home.mkdir()
    (home / "state.db").write_text("dear diary\n" * 500)
    assert "damaged" in str(await refused(home / "state.db", StoreCorrupt))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
async def test_a_truncated_store_says_that_it_is_damaged(filled: Path, share: float) -> None:
    size = filled.stat().st_size
    with filled.open("r+b") as file:
        file.truncate(int(size * share) // 4096 * 4096)
    store = SqliteStore(filled)
    assert not await is_sound(store)
    await store.close()


async def is_sound(store: SqliteStore) -> bool:
    """Whether everything can be read and `verify` finds nothing."""
    try:
        for session in await store.find(Listing()):
            assert len([item async for item in store.read(session.id)]) == 50
        return (await store.verify()).clean
    except StoreCorrupt:
        return False


async def test_a_store_of_a_newer_schema_is_left_alone(filled: Path) -> None:
    connection = sqlite3.connect(filled)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    error = await refused(filled, StoreNewer)
    assert "99" in str(error)
    assert "Update" in error.hint


async def test_a_hermes_home_is_refused_with_the_way_in(home: Path) -> None:
    home.mkdir()
    connection = sqlite3.connect(home / "state.db")
    connection.executescript(
        "CREATE TABLE schema_version(version INTEGER); CREATE TABLE sessions(id TEXT); CREATE TABLE messages(id TEXT);"
    )
    connection.close()
    error = await refused(home / "state.db", StoreForeign)
    assert "Hermes" in str(error)
    assert "sojourn import" in error.hint


async def test_another_programs_database_is_refused(home: Path) -> None:
    home.mkdir()
    connection = sqlite3.connect(home / "state.db")
    connection.execute("CREATE TABLE recipes(name TEXT)")
    connection.close()
    await refused(home / "state.db", StoreForeign)


async def test_a_locked_store_says_who_should_wait(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.stores.sqlite.connect.connect.__kwdefaults__", {"timeout": 0.2})
    holder = sqlite3.connect(filled, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store = SqliteStore(filled)
    assert len(await store.find(Listing())) == 1, "reading goes on while somebody writes"
    with pytest.raises(StoreLocked):
        await store.create(title="no way in")
    assert (await store.health()).code == "store_locked"
    holder.execute("ROLLBACK")
    holder.close()
    assert (await store.create(title="free again")).title == "free again"
    assert (await store.health()).state == "healthy"
    await store.close()


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of three megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, text=True
    )
    assert made.returncode == 0, f"a small file system cannot be mounted here: {made.stderr}"
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@needs_root
async def test_a_full_disk_loses_nothing_and_says_so(mounted: Path) -> None:
    store = SqliteStore(mounted / "state.db")
    session = await store.create(title="until it is full")
    lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)
    kept, why = 0, None
    while why is None:
        try:
            kept += len(await store.append(lease, [user("y" * 3000)]))
        except StoreFull as error:
            why = error
    assert "full" in str(why)
    assert len([item async for item in store.read(session.id)]) == kept > 10
    health = await store.health()
    assert health.readable
    await store.close()
    again = SqliteStore(mounted / "state.db")
    assert len([item async for item in again.read(session.id)]) == kept
    await again.close()


@needs_root
async def test_a_disk_that_is_full_before_we_come_can_be_read(mounted: Path) -> None:
    store = SqliteStore(mounted / "state.db")
    await store.create(title="from before")
    await store.close()
    (mounted / "filling").write_bytes(b"x" * shutil.disk_usage(mounted).free)
    store = SqliteStore(mounted / "state.db")
    assert [session.title for session in await store.find(Listing())] == ["from before"]
    for refused in (store.create(title="no room"), store.index()):
        with pytest.raises(StoreFull):
            await refused
    health = await store.health()
    assert (health.state, health.readable, health.code) == ("read-only", True, "store_full")
    (mounted / "filling").unlink()
    await store.create(title="room again")
    assert len(await store.find(Listing())) == 2
    assert (await store.health()).state == "healthy"
    await store.close()


@needs_root
def test_a_command_on_a_full_or_read_only_disk_says_so_in_one_line(mounted: Path) -> None:
    home = mounted / "home"

    def told(*args: str) -> str:
        ran = subprocess.run([SOJOURN, "--home", str(home), *args], capture_output=True, text=True)
        assert ran.returncode not in (0, 70), ran.stdout
        assert "Traceback" not in ran.stderr
        assert len(ran.stderr.splitlines()) == 2, ran.stderr
        return ran.stderr

    subprocess.run([SOJOURN, "--home", str(home), "welcome"], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    (mounted / "filling").write_bytes(b"x" * shutil.disk_usage(mounted).free)
    assert "(store_full)" in told("sessions", "title", "sample_01", "mine")
    assert "(store_full)" in told("store", "backup")
    assert "No space left" in told("config", "set", "redact", "no")
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    for args in (["store", "backup"], ["store", "backup", str(home / "x.db")], ["config", "set", "redact", "no"]):
        assert "Read-only file system" in told(*args)
    assert [file.name for file in home.rglob("*.part*")] in ([], [".config.toml.part"])


@needs_root
async def test_a_read_only_mount_can_be_read(filled: Path, tmp_path: Path) -> None:
    place = tmp_path / "ro"
    place.mkdir()
    subprocess.run(["mount", "--bind", str(filled.parent), str(place)], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
    try:
        store = SqliteStore(place / "state.db")
        assert [session.title for session in await store.find(Listing())] == ["garden 50"]
        assert len(await store.search(SearchQuery(text="quick fox"))) == 20
        with pytest.raises(StoreReadOnly):
            await store.create(title="no")
        health = await store.health()
        assert (health.state, health.readable) == ("read-only", True)
        await store.close()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@needs_root
async def test_an_unprivileged_user_can_read_what_belongs_to_another(filled: Path) -> None:
    filled.parent.parent.chmod(0o755)
    filled.parent.chmod(0o755)
    filled.chmod(0o644)
    shutil.rmtree(filled.parent / "run")
    script = (
        "import asyncio, concurrent.futures.thread, os, sys; from pathlib import Path\n"
        "from sojourn.stores.sqlite.migrate import load_migrations\n"
        "from sojourn.stores.sqlite.store import SqliteStore; from sojourn.ports.store import Listing\n"
        "known = load_migrations()\n"  # read before: the package may be where only root may look
        "os.setgid(65534); os.setuid(65534)\n"
        "async def main():\n"
        "    store = SqliteStore(Path(sys.argv[1]), migrations=known)\n"
        "    print(len(await store.find(Listing())), (await store.health()).state)\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-c", script, str(filled)], capture_output=True, text=True)
    assert done.stdout.split() == ["1", "read-only"], done.stderr


async def test_nul_and_invalid_utf8_in_rows_come_back_as_they_were(home: Path) -> None:
    home.mkdir()
    store = SqliteStore(home / "state.db")
    session = await store.create()
    lease = await store.lease(session.id, holder="test", surface="cli")
    odd = "a\0b\x1ac" + b"\xff\xfe".decode("utf-8", "surrogateescape") + "\ud800 end"
    await store.append(lease, [Message(role="tool", content=odd, tool_name="t\0ool", tool_calls='["\0"]')])
    [kept] = [item async for item in store.read(session.id)]
    assert isinstance(kept.item, Message)
    assert (kept.item.content, kept.item.tool_name, kept.item.tool_calls) == (odd, "t\0ool", '["\0"]')
    await store.close()


async def test_a_row_damaged_from_outside_is_shown_not_fatal(filled: Path) -> None:
    connection = sqlite3.connect(filled)
    connection.execute("UPDATE messages SET content = CAST(x'66ff6f' AS TEXT), tool_calls = '{broken' WHERE seq = 3")
    connection.commit()
    connection.close()
    store = SqliteStore(filled)
    session = (await store.find(Listing()))[0]
    items = [item.item async for item in store.read(session.id)]
    assert isinstance(items[2], Message)
    assert items[2].content == b"f\xffo".decode("utf-8", "surrogateescape")
    assert len(await store.search(SearchQuery(text="quick", limit=100))) == 50
    lease = await store.lease(session.id, holder="test", surface="cli")
    await store.append(lease, [user("later words")])
    assert await store.index() == 1, "one bad row does not stop the index"
    await store.close()


async def test_a_message_of_five_megabytes_is_kept_whole_and_found(home: Path) -> None:
    home.mkdir()
    store = SqliteStore(home / "state.db")
    session = await store.create()
    lease = await store.lease(session.id, holder="test", surface="cli")
    big = "needle " + "hay " * 1_310_000 + "haystack"
    await store.append(lease, [Message(role="tool", content=big, tool_name="cat")])
    [kept] = [item async for item in store.read(session.id)]
    assert isinstance(kept.item, Message)
    assert kept.item.content == big
    assert (
        len(await store.search(SearchQuery(text="needle")))
        == len(await store.search(SearchQuery(text="haystack")))
        == 1
    )
    stats = await store.stats()
    assert stats.bytes_by["search index"] < 200_000
    await store.close()


async def test_a_session_of_a_hundred_thousand_messages_is_read_in_order(home: Path) -> None:
    home.mkdir()
    store = SqliteStore(home / "state.db")
    session = await write(store, 100_000)
    seen = 0
    async for item in store.read(session.id, messages_only=True):
        seen += 1
        assert item.seq == seen
    assert seen == 100_000
    assert len(await store.search(SearchQuery(text="fox 99999"))) == 1
    await store.close()
