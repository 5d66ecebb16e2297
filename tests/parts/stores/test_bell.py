"""A bell that is being closed: the last commits are still rung, and nothing stays open after it."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from sojourn.stores.sqlite.bell import Bell

FILES = Path("/proc/self/fd")
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="open files are counted where the system shows them")


@pytest.fixture
def place(tmp_path):
    """A store's file and its `run` folder, whose path is too long for a socket."""
    run = tmp_path / ("long" * 20) / "run"
    run.mkdir(parents=True)
    sqlite3.connect(tmp_path / "state.db").close()
    return run, tmp_path / "state.db"


@pytest.fixture
def listener(place):
    """Another process's bell, and what it heard."""
    run, path = place
    heard, come = [], threading.Event()
    bell = Bell(run, lambda names: (heard.append(names), come.set()), path)
    bell.listen()
    yield heard, come
    bell.close()


def open_files():
    return len(list(FILES.iterdir()))


def test_a_bell_that_stopped_listening_still_rings(place, listener):
    run, path = place
    heard, come = listener
    bell = Bell(run, lambda names: None, path)
    bell.listen()
    bell.stop_listening()
    bell.ring(["s1"])
    assert come.wait(5)
    assert heard == [["s1"]]
    bell.close()


def test_ringing_and_listening_after_the_end_leaves_nothing_open(place, listener):
    run, path = place
    before = open_files()
    for was_rung in (False, True):
        bell = Bell(run, lambda names: None, path)
        if was_rung:
            bell.ring(["s1"])
        bell.close()
        bell.ring(["s2"])
        bell.listen()
        bell.close()
    assert open_files() == before
