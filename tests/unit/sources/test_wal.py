"""What was written to a database is read from its log: never less than it was, or it is said that it cannot be told."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.importers.wal import end_of, written_since
from tests.unit.sources.wal_worlds import BIG, IN_PLACE, World, another


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


# -- rows --------------------------------------------------------------------


def test_without_a_log_there_is_no_end(tmp_path: Path) -> None:
    assert end_of(tmp_path / "nothing.db") is None
    db = sqlite3.connect(tmp_path / "plain.db")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    db.close()
    assert end_of(tmp_path / "plain.db") is None


def test_nothing_written_is_nothing(world: World) -> None:
    world.insert(1, big=BIG)
    last = world.end()
    assert world.rows_since(last) == frozenset()
    assert world.is_all_in(last)


@pytest.mark.parametrize("page_size", [512, 1024, 4096, 65536])
def test_new_and_changed_rows_are_told_and_far_ones_are_not(tmp_path: Path, page_size: int) -> None:
    with another(tmp_path, page_size) as world:
        world.tell("BEGIN")
        world.insert(*range(1, 6000), big="y" * 40)
        world.tell("COMMIT")
        last = world.end()
        world.insert(9000, -5, 2**62, -(2**63))
        world.tell("UPDATE t SET big = 'changed' WHERE id = 3000")
        rows = world.rows_since(last)
        assert rows is not None
        assert {9000, -5, 2**62, -(2**63), 3000} <= rows
        assert 4200 not in rows
        assert world.is_all_in(last)


def test_rows_that_move_because_a_neighbour_goes_are_told(world: World) -> None:
    world.insert(*range(1, 200), big="y" * 300)
    last = world.end()
    world.tell("DELETE FROM t WHERE id BETWEEN 50 AND 150")
    before = {row[0] for row in world.reader.execute("SELECT id FROM t")}
    rows = world.rows_since(last)
    assert rows is not None
    assert {49, 151} <= rows & before


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_the_overflow_of_large_rows_is_accounted_for(tmp_path: Path, page_size: int) -> None:
    with another(tmp_path, page_size) as world:
        last = world.end()
        most, most_in_index = page_size - 35, (page_size - 12) * 64 // 255 - 23
        edges = (*range(most_in_index - 12, most_in_index + 3), *range(most - 12, most + 3), page_size * 2 - 40)
        for size in (*edges, 30_000, 140_000):
            world.insert(size, big="z" * size)
            world.tell("INSERT INTO words SELECT big FROM t ORDER BY id DESC LIMIT 1")
            world.insert(size, big="z" * size, table="keyed")
        assert world.is_all_in(last)
        world.tell("UPDATE t SET big = big || 'more'", "DELETE FROM words WHERE rowid % 3 = 0")
        assert world.is_all_in(last)


def test_pages_with_bytes_of_somebody_elses_are_understood(tmp_path: Path) -> None:
    """Extensions that encrypt or sum up keep some bytes at the end of every page for themselves."""
    db = sqlite3.connect(tmp_path / "state.db")
    db.execute("PRAGMA page_size=512")
    db.execute("PRAGMA user_version=1")
    db.close()
    with (tmp_path / "state.db").open("r+b") as file:
        file.seek(20)
        file.write(bytes([32]))
        file.seek(105)
        file.write((512 - 32).to_bytes(2, "big"))
    with another(tmp_path) as world:
        last = world.end()
        world.insert(1, 2, big=BIG)
        assert world.is_all_in(last)
        assert world.reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        world.tell("DROP INDEX by_n")
        last = world.end()
        world.tell(IN_PLACE.format("t", "id = 1"))
        assert [world.is_all_in(last, row) for row in (1, 2)] == [True, False]


# -- overflow that is overwritten in place -----------------------------------


@pytest.mark.parametrize("page_size", [512, 4096])
def test_overflow_overwritten_in_place_has_to_be_claimed_by_its_row(tmp_path: Path, page_size: int) -> None:
    with another(tmp_path, page_size) as world:
        world.insert(*range(-400, 400))
        world.insert(500, 501, -502, big=BIG)
        world.tell("DROP INDEX by_n")
        for checkpoint in ("SELECT 1", "PRAGMA wal_checkpoint"):  # the leaf is read from the log, then from the file
            world.tell(checkpoint)
            world.insert(0, table="other")
            last = world.end()
            world.tell("DELETE FROM other", IN_PLACE.format("t", "id = 501"))
            rows = world.rows_since(last)
            assert rows is not None
            assert 501 not in rows
            assert [world.is_all_in(last, *claimed) for claimed in ([], [500, -502, 7], [501], [2, 501, -500])] == [
                False,
                False,
                True,
                True,
            ]
            last = world.end()
            world.tell(IN_PLACE.format("t", "id = -502"))
            assert [world.is_all_in(last, row) for row in (501, -502)] == [False, True]


@pytest.mark.parametrize("table", ["other", "keyed"])
def test_overflow_of_another_table_cannot_be_claimed(world: World, table: str) -> None:
    world.insert(1, 2, big=BIG)
    world.insert(1, 2, big=BIG, table=table)
    last = world.end()
    world.tell(IN_PLACE.format(table, "n = 10"))
    assert not world.is_all_in(last, 1, 2)


def test_a_row_that_is_not_there_claims_nothing(world: World) -> None:
    world.insert(1, big=BIG)
    world.tell("DROP INDEX by_n")
    last = world.end()
    world.tell(IN_PLACE.format("t", "id = 1"))
    assert not world.is_all_in(last, 0, 2, 10**9, -1)
    with world.looking(last) as written:
        assert written is not None
        assert [written.is_all_in(root, [1]) for root in (0, 1, 3, 10**6, 2**32)] == [False] * 5


def test_part_of_a_long_value_overwritten_is_seen(world: World) -> None:
    world.insert(7, 8, big=BIG)
    last = world.end()
    with world.writer.blobopen("t", "big", 7) as value:
        value.seek(15_000)
        value.write(b"!")
    assert not world.is_all_in(last, 8)
    assert world.is_all_in(last, 7)


@pytest.mark.parametrize("secure", ["ON", "OFF"])
def test_free_pages_are_nobodys(tmp_path: Path, secure: str) -> None:
    with another(tmp_path, 512, secure_delete=secure) as world:
        world.insert(*range(1, 10), big=BIG)
        last = world.end()
        world.insert(20, big=BIG * 5)
        world.tell("DELETE FROM t WHERE id IN (3, 4, 20)")
        (free,) = world.writer.execute("PRAGMA freelist_count").fetchone()
        assert free > 200  # that is more than one page can list
        assert world.is_all_in(last)


def test_a_database_that_shrank_is_told_up_to_its_end(world: World) -> None:
    world.insert(1, 2, 3)
    world.insert(*range(10, 40), big=BIG)
    last = world.end()
    world.insert(99, big=BIG)
    world.tell("DELETE FROM t WHERE id >= 10", "VACUUM")
    rows = world.rows_since(last)
    assert rows is not None
    assert {1, 2, 3} <= rows
    assert world.is_all_in(last)


def test_churn_in_a_full_text_index_is_accounted_for(world: World) -> None:
    last = world.end()
    chance = random.Random(5)
    for _ in range(60):
        text = " ".join(f"word{chance.randrange(2000)}" for _ in range(100))
        world.writer.execute("INSERT INTO found VALUES (?)", (text,))
    world.tell("DELETE FROM found WHERE rowid % 4 = 0", "INSERT INTO found (found) VALUES ('optimize')")
    assert world.is_all_in(last)


def test_a_database_that_moves_its_pages_is_not_judged(tmp_path: Path) -> None:
    with another(tmp_path, auto_vacuum="FULL") as world:
        last = world.end()
        world.insert(1, big=BIG)
        assert world.rows_since(last) is None


# -- what counts as committed ------------------------------------------------


def test_an_open_and_a_rolled_back_transaction_do_not_count(tmp_path: Path) -> None:
    with another(tmp_path, cache_size=5) as world:
        world.insert(1)
        last, size = world.end(), world.log.stat().st_size
        world.tell("BEGIN")
        world.insert(*range(100, 400), big="y" * 2000)
        assert world.log.stat().st_size > size + 100_000  # it stands in the log already
        assert world.end() == last
        world.tell("ROLLBACK")
        assert world.end() == last
        world.insert(2)
        rows = world.rows_since(last)
        assert rows is not None
        assert 2 in rows
        assert rows.isdisjoint(range(100, 400))


def test_a_commit_that_was_not_announced_does_not_count(world: World, tmp_path: Path) -> None:
    """So it is between the last byte of a commit and readers knowing of it, and after a kill between the two."""
    world.insert(1)
    last = world.end()
    index = world.index.read_bytes()
    world.insert(2)
    (tmp_path / "copy").mkdir()
    copy = tmp_path / "copy" / world.path.name
    shutil.copyfile(world.path, copy)
    shutil.copyfile(world.log, copy.with_name(world.log.name))
    copy.with_name(world.index.name).write_bytes(index)
    assert end_of(copy) == last
    with copy.with_name(world.log.name).open("r+b") as log:  # what was announced, and is not there
        log.truncate(32 + (last.frames - 1) * (24 + 4096))
    assert end_of(copy) is None


def test_frames_that_were_written_again_are_noticed(world: World) -> None:
    """After a loss of power a log may be shorter than an end that was seen, and grow past it with other frames."""
    world.insert(1)
    last = world.end()
    world.insert(2)
    here = world.end()
    assert written_since(world.path, last, here) is not None
    assert written_since(world.path, replace(last, checksum=bytes(8)), here) is None
    assert written_since(world.path, here, last) is None


def test_too_much_is_not_looked_through(tmp_path: Path) -> None:
    with another(tmp_path, 512) as world:
        last = world.end()
        world.insert(1, big="x" * 9_000_000)
        assert world.rows_since(last) is not None
        world.insert(2, big="x" * 2_000_000)
        assert world.rows_since(last) is None
        assert written_since(world.path, last, replace(last, pages=2**24)) is None


# -- everything at once ------------------------------------------------------


def something(db: sqlite3.Connection, chance: random.Random) -> None:
    """One change of any kind, to any table."""
    table = chance.choice(["t", "t", "t", "other", "keyed"])
    key = "k" if table == "keyed" else "id"
    text = chance.choice("abcdefgh") * chance.choice([0, 5, 100, 700, 1500, 4000, chance.randrange(6000)])
    ids = [row[0] for row in db.execute(f"SELECT {key} FROM {table}")] or [0]
    match chance.randrange(9):
        case 0 | 1 | 2:
            rowid = chance.choice([len(ids), chance.randrange(10_000), chance.randrange(-(2**63), 2**63)])
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, 10)", (rowid, text))
        case 3 | 4:
            db.execute(IN_PLACE.format(table, f"{key} = {chance.choice(ids)}"))
        case 5:
            db.execute(f"UPDATE {table} SET big = ? WHERE {key} = ?", (text, chance.choice(ids)))
        case 6:
            same = f"UPDATE {table} SET big = replace(big, substr(big, 1, 1), 'z') WHERE {key} = ?"
            db.execute(same, (chance.choice(ids),))
        case 7:
            db.execute(f"DELETE FROM {table} WHERE {key} IN (?, ?)", chance.choices(ids, k=2))
        case 8:
            db.execute("INSERT INTO words VALUES (?)", (text,))
            db.execute("INSERT INTO found VALUES (?)", (" ".join(f"w{chance.randrange(99)}" for _ in range(30)),))
            db.execute("DELETE FROM words WHERE rowid % 7 = ?", (chance.randrange(7),))


def contents(db: sqlite3.Connection) -> dict[tuple[str, int], tuple[object, ...]]:
    return {(table, row[0]): row for table in ("t", "other") for row in db.execute(f"SELECT * FROM {table}")}


@pytest.mark.parametrize("seed", range(60))
def test_no_change_is_ever_missed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    page_size, secure = chance.choice([512, 512, 1024, 4096]), chance.choice(["ON", "OFF", "FAST"])
    with another(tmp_path, page_size, secure_delete=secure, cache_size=chance.choice([5, 100])) as world:
        if seed % 2:
            world.tell("DROP INDEX by_n")  # which writes the number of every row in the overflow
        for _ in range(20):
            something(world.writer, chance)
        last, before = world.end(), contents(world.reader)
        for _ in range(12):
            for _ in range(chance.choice([1, 1, 2, 4])):
                world.tell("BEGIN")
                for _ in range(chance.choice([1, 1, 2, 8])):
                    something(world.writer, chance)
                world.tell(chance.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))
                if chance.random() < 0.2:
                    world.tell(f"PRAGMA wal_checkpoint({chance.choice(['PASSIVE', 'RESTART', 'RESTART', 'TRUNCATE'])})")
            with world.looking(last) as written:
                last, now = world.end(), contents(world.reader)
                changed = {key for key in now if now[key] != before.get(key)}
                ids = [id_ for table, id_ in now if table == "t"]
                for claimed in ([], [id_ for id_ in ids if chance.random() < 0.5], ids):
                    if written is not None and written.is_all_in(world.root(), claimed):
                        assert {id_ for _, id_ in changed} <= written.rows | set(claimed)
                before = now
