"""A notifier that is being closed still sends the last notifications and leaves no file open."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from sojourn.stores.sqlite.notify import SqliteNotifier

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
    """The notifier of another process, and what it received."""
    run, path = place
    received, arrived = [], threading.Event()
    notifier = SqliteNotifier(run, lambda names: (received.append(names), arrived.set()), path)
    notifier.listen()
    yield received, arrived
    notifier.close()


def open_files():
    return len(list(FILES.iterdir()))


def test_a_notifier_that_stopped_listening_still_sends(place, listener):
    run, path = place
    received, arrived = listener
    notifier = SqliteNotifier(run, lambda names: None, path)
    notifier.listen()
    notifier.stop_listening()
    notifier.notify(["s1"])
    assert arrived.wait(5)
    assert received == [["s1"]]
    notifier.close()


def test_sending_and_listening_after_close_leaves_nothing_open(place, listener):
    run, path = place
    before = open_files()
    for has_sent in (False, True):
        notifier = SqliteNotifier(run, lambda names: None, path)
        if has_sent:
            notifier.notify(["s1"])
        notifier.close()
        notifier.notify(["s2"])
        notifier.listen()
        notifier.close()
    assert open_files() == before
