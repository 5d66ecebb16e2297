"""A log is filled anew from its start when all of it is in the database; and we are guests who disturb nobody."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.importers.wal import end_of, written_since
from tests.unit.sources.wal_worlds import BIG, IN_PLACE, World, another


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def filled(world: World, *ids: int) -> None:
    """A few frames for each."""
    for id_ in ids:
        world.insert(id_, big="y" * 3000)


def anew(world: World) -> None:
    """Whoever writes next begins at the start of the log."""
    assert world.writer.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0


def test_rows_on_both_sides_of_a_new_filling_are_told(world: World) -> None:
    filled(world, *range(1, 30))
    anew(world)
    filled(world, *range(30, 40))
    last = world.end()
    filled(world, 50, 51)
    anew(world)
    filled(world, 60)
    assert world.end().salts != last.salts
    rows = world.rows_since(last)
    assert rows is not None
    assert {50, 51, 60} <= rows
    assert 25 not in rows


def test_overflow_in_place_is_seen_on_both_sides_of_a_new_filling(world: World) -> None:
    world.insert(1000, 1001, big=BIG)
    filled(world, *range(1, 30))
    world.tell("DROP INDEX by_n")
    anew(world)
    filled(world, *range(30, 40))
    last = world.end()
    world.tell(IN_PLACE.format("t", "id = 1000"))
    anew(world)
    world.tell(IN_PLACE.format("t", "id = 1001"))
    assert [world.is_all_in(last, *claimed) for claimed in ([], [1000], [1001], [1000, 1001])] == [
        False,
        False,
        False,
        True,
    ]


def test_a_log_that_ends_with_the_old_filling_might_have_been_cut(world: World) -> None:
    filled(world, *range(1, 30))
    last = world.end()
    filled(world, 50)
    anew(world)
    filled(world, 60)
    assert world.rows_since(last) is None


def test_a_log_that_was_cut_is_not_taken_for_whole(world: World) -> None:
    filled(world, *range(1, 20))
    last = world.end()
    frames = last.frames + 3
    filled(world, *range(20, 40))
    anew(world)
    world.tell(f"PRAGMA journal_size_limit={32 + frames * (24 + 4096)}")
    filled(world, 60)
    assert world.log.stat().st_size == 32 + frames * (24 + 4096)
    assert world.rows_since(last) is None


def test_a_frame_without_salts_is_not_taken_for_an_older_one(world: World) -> None:
    """SQLite 3.40 forgets some after ROLLBACK TO in a transaction that is larger than its memory."""
    filled(world, *range(1, 30))
    anew(world)
    filled(world, *range(30, 40))
    last = world.end()
    filled(world, 50, 51)
    with world.log.open("r+b") as log:
        log.seek(32 + last.frames * (24 + 4096) + 8)
        log.write(bytes(16))
    assert world.rows_since(last) is None
    anew(world)
    filled(world, 60)
    assert world.rows_since(last) is None


def test_a_filling_begun_while_we_look_ends_the_look(world: World) -> None:
    world.insert(*range(1, 9), big=BIG)
    world.tell("DROP INDEX by_n")
    last = world.end()
    world.tell(IN_PLACE.format("t", "id = 3"))
    middle = world.end()
    filled(world, 20)
    world.tell("PRAGMA wal_checkpoint")  # all is in the database: our snapshot needs no log, and does not keep it
    here = world.end()
    with world.looking(last) as written:
        assert written is not None
        assert written_since(world.path, middle, here) is not None
        assert written.is_all_in(world.root(), [3])
        filled(world, 30)
        assert world.end().salts != here.salts
        assert not written.is_all_in(world.root(), [3])
        assert written_since(world.path, middle, here) is None


def test_new_frames_over_the_last_look_cannot_be_told(world: World) -> None:
    filled(world, *range(1, 30))
    anew(world)
    filled(world, 30)
    last = world.end()
    anew(world)
    filled(world, *range(40, 50))
    assert world.rows_since(last) is None


def test_two_new_fillings_cannot_be_told(world: World) -> None:
    filled(world, *range(1, 30))
    anew(world)
    filled(world, *range(30, 50))
    last = world.end()
    for id_ in (60, 61):
        anew(world)
        filled(world, id_)
    assert world.rows_since(last) is None


def test_an_emptied_log_begins_a_new_count(world: World) -> None:
    filled(world, *range(1, 30))
    last = world.end()
    filled(world, 30)
    world.tell("PRAGMA wal_checkpoint(TRUNCATE)")
    emptied = world.end()
    assert emptied.frames == 0
    assert world.rows_since(last) is None
    filled(world, *range(40, 90))
    assert world.rows_since(last) is None
    rows = world.rows_since(emptied)
    assert rows is not None
    assert set(range(40, 90)) <= rows


def test_a_deleted_log_cannot_be_told(world: World) -> None:
    filled(world, 1)
    last = world.end()
    world.close()
    assert not world.log.exists()
    assert end_of(world.path) is None
    assert written_since(world.path, last, last) is None
    world.reader, world.writer = world.connected(), world.connected()
    assert world.reader.execute("SELECT count(*) FROM t").fetchone() == (1,)
    assert end_of(world.path) is None  # nobody has written to it: it has no name of its own yet
    filled(world, 2, 3)
    assert world.rows_since(last) is None


# -- a good guest ------------------------------------------------------------


def test_our_own_snapshot_keeps_its_locks(world: World) -> None:
    """A process loses its locks on a file when it closes any descriptor of it."""
    world.insert(1, big=BIG)
    last = world.end()
    world.tell(IN_PLACE.format("t", "id = 1"))
    checkpoint = (
        "import sqlite3, sys; print(sqlite3.connect(sys.argv[1], timeout=0).execute(sys.argv[2]).fetchone()[0])"
    )
    with world.looking(last) as written:
        assert written is not None
        assert written.is_all_in(world.root(), [1])
        command = [sys.executable, "-ISc", checkpoint, str(world.path), "PRAGMA wal_checkpoint(TRUNCATE)"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said.strip() == "1"  # busy


def test_files_that_are_gone_are_let_go(tmp_path: Path) -> None:
    def one() -> None:
        with another(tmp_path / "world") as world:
            last = world.end()
            world.insert(1, big=BIG)
            assert world.is_all_in(last)
        shutil.rmtree(tmp_path / "world")

    one()
    open_before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        one()
    assert len(list(Path("/dev/fd").iterdir())) <= open_before
