"""Logs, indexes and pages that are not what they should be: never an exception, never believed."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.importers import pages
from sojourn.importers.wal import LogEnd, end_of, written_since
from tests.unit.sources.wal_worlds import BIG, IN_PLACE, another


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[LogEnd, LogEnd, int, dict[str, bytes]]:
    """The files of a database at one moment, between two looks."""
    with another(tmp_path_factory.mktemp("whole"), 512) as world:
        world.insert(*range(1, 60))
        world.insert(100, 101, big=BIG)
        world.tell("PRAGMA wal_checkpoint")
        world.insert(150)
        last = world.end()
        world.insert(*range(200, 220), big="y" * 900)
        world.tell(IN_PLACE.format("t", "id = 100"), "DELETE FROM t WHERE id = 205")
        paths = (world.path, world.log, world.index)
        return last, world.end(), world.root(), {path.name: path.read_bytes() for path in paths}


def asked(folder: Path, last: LogEnd, here: LogEnd, root: int) -> bool:
    """All there is to ask. It must never end in an exception."""
    end_of(folder / "state.db")
    written = written_since(folder / "state.db", last, here)
    return written is not None and written.is_all_in(root, [*range(1, 60), 100, 101, 10**6])


def test_copies_of_the_files_tell_the_same(whole, tmp_path: Path) -> None:
    last, here, root, files = whole
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert end_of(tmp_path / "state.db") == here
    assert asked(tmp_path, last, here, root)


@pytest.mark.parametrize("at", [0, 12, 14, 16, 20, 24, 32, 40])
def test_an_index_that_is_not_whole_is_not_believed(whole, tmp_path: Path, at: int) -> None:
    *_, files = whole
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    index = bytearray(files["state.db-shm"])
    for copy in (48, 0):  # everything stands there twice
        index[copy + at] ^= 1
        (tmp_path / "state.db-shm").write_bytes(index)
        assert end_of(tmp_path / "state.db") is None


def test_cells_on_a_free_page_account_for_nothing(tmp_path: Path) -> None:
    with another(tmp_path / "world", 512, secure_delete="ON") as world:
        world.insert(1, 2, big=BIG)
        world.tell("DROP INDEX by_n")
        middle = world.end()
        world.tell("DELETE FROM t WHERE id = 2")
        last = world.end()
        world.tell(IN_PLACE.format("t", "id = 1"))
        here, root, log = world.end(), world.root(), bytearray(world.log.read_bytes())
        shutil.copytree(world.path.parent, tmp_path / "copy")
    assert here.frames == last.frames + 1
    overwritten = log[32 + last.frames * 536 :][:4]
    free = next(at for at in range(32 + middle.frames * 536, len(log), 536) if not any(log[at + 24 : at + 536]))
    cell = bytes([0x84, 0x58, 9]) + bytes(92) + overwritten  # 600 bytes, of which 92 stand here
    log[free + 24 : free + 536] = (bytes([0x0D, 0, 0, 0, 1, 0, 0, 0, 1, 0]) + bytes(246) + cell).ljust(512, b"\0")
    (tmp_path / "copy" / "state.db-wal").write_bytes(log)
    written = written_since(tmp_path / "copy" / "state.db", middle, here)
    assert written is not None
    assert 9 in written.rows
    assert [written.is_all_in(root, rows) for rows in ([], [1])] == [False, True]


def test_what_leads_in_a_circle_is_left() -> None:
    circle = {1: bytes(32) + struct.pack(">II", 2, 9) + bytes(472), 2: struct.pack(">II", 2, 0) + bytes(504)}
    circle[3] = bytes([5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]) + bytes(500)
    assert list(pages.chain(2, 10**9, circle.__getitem__)) == [2]
    assert list(pages.overflow_of_row(3, 1, 512, circle.__getitem__)) == []
    for left in (9, 10**9):
        circle[1] = bytes(32) + struct.pack(">II", 2, left) + bytes(472)
        with pytest.raises(EOFError):
            pages.free({2, 3}, circle.__getitem__)
    circle[1] = bytes(32) + struct.pack(">II", 4, 2) + bytes(472)
    circle[4] = struct.pack(">III", 0, 1, 3) + bytes(500)
    assert pages.free({2, 3, 4}, circle.__getitem__) == {3, 4}
    circle[4] = struct.pack(">II", 0, 0) + bytes(504)
    with pytest.raises(EOFError):
        pages.free({2, 3, 4}, circle.__getitem__)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_survived(data: st.DataObject, whole, tmp_path: Path) -> None:
    last, here, root, files = whole
    for name, content in files.items():
        bent = bytearray(content)
        for at in data.draw(st.lists(st.integers(0, len(bent) - 1), max_size=40)):
            bent[at] = data.draw(st.sampled_from([0, 1, 2, 5, 10, 13, 127, 128, 255]))
        kept = data.draw(st.sampled_from([len(bent)] * 6 + [0, 10, 40, len(bent) // 2]))
        (tmp_path / name).write_bytes(bent[:kept])
    asked(tmp_path, last, here, root)


@pytest.mark.parametrize("seed", range(20))
def test_pages_of_garbage_are_survived(whole, tmp_path: Path, seed: int) -> None:
    last, here, root, files = whole
    chance = random.Random(seed)
    for name, content in files.items():
        bent = bytearray(content)
        for page in range(0 if name == "state.db" else 4, len(content) // 512 if name != "state.db-shm" else 0):
            if chance.random() < 0.3:
                at = page * 512 if name == "state.db" else 32 + page * 536 + 24
                kind, cells = chance.choice([0, 2, 5, 10, 13]), chance.choice([1, 3, 200, 255])
                bent[at : at + 512] = bytes([kind, 0, 0, 0, cells]) + chance.randbytes(507)
        (tmp_path / name).write_bytes(bent)
    asked(tmp_path, last, here, root)
