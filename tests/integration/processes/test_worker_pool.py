"""The pool of worker processes, and the process that uses it."""

import os
from collections import Counter

import pytest

from sojourn.processes.worker_pool import WorkerPool

begun: list[str] = []  # of this process


def begin(word):
    begun.append(word)


def work(sessions):
    return os.getpid(), list(begun), sessions


def trouble(sessions):
    raise ValueError(sessions[0])


SESSIONS = [(f"s{n}", 100) for n in range(60)]


@pytest.mark.parametrize("caller_works", [False, True])
def test_everything_is_done_once_and_the_caller_helps_if_it_may(caller_works):
    with WorkerPool(begin, ("ready",), workers=2, caller_works=caller_works) as pool:
        done = list(pool.map(work, SESSIONS, here=work if caller_works else None))
    assert Counter(one for *_, batch in done for one in batch) == Counter(session for session, _ in SESSIONS)
    assert all(word == ["ready"] for pid, word, _ in done if pid != os.getpid())
    assert any(pid == os.getpid() for pid, *_ in done) == caller_works


def test_what_goes_wrong_there_is_raised_here():
    with WorkerPool(begin, ("ready",), workers=1) as pool, pytest.raises(ValueError, match=r"^s\d+$"):
        list(pool.map(trouble, SESSIONS))


def test_it_ends_early_when_it_is_stopped():
    seen = []
    with WorkerPool(begin, ("ready",), workers=2, caller_works=True) as pool:
        for one in pool.map(work, SESSIONS, here=work, stopped=lambda: bool(seen)):
            seen.append(one)
    assert 0 < sum(len(batch) for *_, batch in seen) < len(SESSIONS)
