"""Processes that work side by side, and the one that asked them."""

import os
from collections import Counter

import pytest

from sojourn.core.side_by_side import Crew

begun: list[str] = []  # of this process


def begin(word):
    begun.append(word)


def work(sessions):
    return os.getpid(), list(begun), sessions


def trouble(sessions):
    raise ValueError(sessions[0])


SESSIONS = [(f"s{n}", 100) for n in range(60)]


@pytest.mark.parametrize("lends_a_hand", [False, True])
def test_everything_is_done_once_and_the_caller_helps_if_it_may(lends_a_hand):
    with Crew(begin, ("ready",), workers=2, lends_a_hand=lends_a_hand) as crew:
        done = list(crew.does(work, SESSIONS, here=work if lends_a_hand else None))
    assert Counter(one for *_, parcel in done for one in parcel) == Counter(session for session, _ in SESSIONS)
    assert all(word == ["ready"] for pid, word, _ in done if pid != os.getpid())
    assert any(pid == os.getpid() for pid, *_ in done) == lends_a_hand


def test_what_goes_wrong_there_is_raised_here():
    with Crew(begin, ("ready",), workers=1) as crew, pytest.raises(ValueError, match=r"^s\d+$"):
        list(crew.does(trouble, SESSIONS))


def test_it_ends_early_when_it_is_stopped():
    seen = []
    with Crew(begin, ("ready",), workers=2, lends_a_hand=True) as crew:
        for one in crew.does(work, SESSIONS, here=work, stopped=lambda: bool(seen)):
            seen.append(one)
    assert 0 < sum(len(parcel) for *_, parcel in seen) < len(SESSIONS)
