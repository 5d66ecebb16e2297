"""The kept token: one for all processes, private, never replaced unasked."""

import os
import stat
import threading

import pytest

from sojourn.core.errors import BadConfig
from sojourn.http.token_file import keep_token, read_token, rotate_token


def test_processes_that_start_at_once_keep_the_same_token(home):
    found, barrier = [], threading.Barrier(8)

    def keep():
        barrier.wait()
        found.append(keep_token(home))

    threads = [threading.Thread(target=keep) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(found)) == 1
    assert [one.name for one in home.iterdir()] == ["token"]


def test_rotating_replaces_it_as_a_whole(home):
    assert read_token(home) is None
    old = keep_token(home)
    new = rotate_token(home)
    assert read_token(home) == new != old
    assert stat.S_IMODE((home / "token").stat().st_mode) == 0o600
    assert [one.name for one in home.iterdir()] == ["token"]


@pytest.mark.parametrize("text", ["", "short", "x" * 2000, "zwölf Zeichen sind noch nicht genug"])
def test_what_holds_no_token_is_said_to_hold_none(home, text):
    home.mkdir()
    (home / "token").write_text(text)
    with pytest.raises(BadConfig, match="holds no token"):
        keep_token(home)


def test_a_fifo_does_not_hang_it(home):
    home.mkdir()
    os.mkfifo(home / "token")
    with pytest.raises(BadConfig):
        read_token(home)
