"""A store that cannot be written to says so, an old server stops after an upgrade, and the file shrinks again."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sojourn.core.messages import user
from sojourn.ports.store import Listing
from sojourn.stores.sqlite.store import SqliteStore
from tests.e2e.http_server import Serving

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def wait_for_health(server: Serving, status: int) -> dict[str, str]:
    until = time.monotonic() + 20
    while (answer := server.get("/healthz")).status_code != status:
        assert time.monotonic() < until, answer.text
        time.sleep(0.2)
    found: dict[str, str] = answer.json()
    return found


def create_session(server: Serving) -> int:
    return server.client.post("/api/sessions", json={}).status_code


@needs_root
def test_a_full_disk_is_unhealthy_until_there_is_room(mounted: Path) -> None:
    with Serving(mounted / "home") as server:
        assert create_session(server) == 201
        wait_for_health(server, 200)
        (mounted / "filling").write_bytes(b"x" * shutil.disk_usage(mounted).free)
        assert wait_for_health(server, 503)["code"] == "store_full"
        (mounted / "filling").unlink()
        wait_for_health(server, 200)
        assert create_session(server) == 201


def test_a_database_that_was_moved_away_is_unhealthy_and_takes_no_writes(tmp_path: Path) -> None:
    path, away = tmp_path / "state.db", tmp_path / "elsewhere.db"
    with Serving(tmp_path) as server:
        assert create_session(server) == 201
        path.rename(away)
        assert "moved" in wait_for_health(server, 503)["error"]
        assert create_session(server) == 503, "it is written where nobody will find it"
        away.rename(path)
        wait_for_health(server, 200)
        assert create_session(server) == 201


def test_an_old_server_stops_writing_after_an_upgrade(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        session = server.client.post("/api/sessions", json={}).json()["id"]
        with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as newer:
            newer.execute("INSERT INTO schema_migrations(number, name, at) VALUES (999, 'later', 0)")
            newer.execute("PRAGMA user_version = 999")
        answer = server.client.post("/api/sessions", json={})
        assert (answer.status_code, answer.json()["code"]) == (503, "store_newer"), answer.text
        assert server.get("/healthz").status_code == 503
        assert server.get(f"/api/sessions/{session}").status_code == 200  # reading goes on


async def test_what_was_deleted_makes_the_files_small_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "state.db")
    try:
        for number in range(30):
            session = await store.create(title=f"large {number}")
            lease = await store.lease(session.id, holder="test", surface="cli")
            await store.append(lease, [user(f"{number} " + "word " * 200_000)])
            await store.renew(lease, 0)
        large = (tmp_path / "state.db").stat().st_size
        assert large > 20_000_000
        for found in await store.find(Listing(limit=100)):
            await store.delete(found.id)
        until = time.monotonic() + 30
        while (size := (tmp_path / "state.db").stat().st_size) > large // 4:
            assert time.monotonic() < until, f"{size} of {large} bytes are still there"
            await store.create()
            time.sleep(0.2)
        assert (tmp_path / "state.db-wal").stat().st_size <= 5_000_000
    finally:
        await store.close()
