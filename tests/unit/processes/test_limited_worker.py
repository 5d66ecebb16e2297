"""A worker process ends what takes too long or too much memory, and works on afterwards."""

import re
import time

import pytest

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.sqlite_reader import DamagedDatabase
from sojourn.processes.limited_worker import LimitedWorker, LimitExceeded, run_limited

MEMORY = 512 << 20


def raise_error(kind: type[Exception]) -> None:
    raise kind("It is odd.", hint="Look at it.")  # type: ignore[call-arg]


def test_it_returns_what_a_function_returns() -> None:
    assert run_limited(sorted, [3, 1, 2], seconds=5, memory_bytes=MEMORY) == [1, 2, 3]


def test_a_pattern_that_hangs_is_ended_and_the_next_call_works() -> None:
    with LimitedWorker(memory_bytes=MEMORY) as worker:
        worker.call(len, "", seconds=5)
        began = time.monotonic()
        with pytest.raises(LimitExceeded, match="longer than 1 seconds"):
            worker.call(re.match, r"(a+)+$", "a" * 60 + "b", seconds=1)
        assert time.monotonic() - began < 10
        assert worker.call(len, "abc", seconds=5) == 3


def test_memory_is_limited() -> None:
    with LimitedWorker(memory_bytes=MEMORY) as worker:
        with pytest.raises(LimitExceeded, match="512 MB of memory"):
            worker.call(bytes, 2 << 30, seconds=20)
        assert worker.call(len, "abc", seconds=5) == 3


@pytest.mark.parametrize("kind", [SourceUnreadable, DamagedDatabase])
def test_our_errors_come_back_whole(kind: type[SourceUnreadable]) -> None:
    with pytest.raises(kind, match="odd") as caught:
        run_limited(raise_error, kind, seconds=5, memory_bytes=MEMORY)
    assert caught.value.hint == "Look at it."
