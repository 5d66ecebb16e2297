"""Work in parcels: everything once, large parcels first, small ones at the end; here, and in other processes."""

import os
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.side_by_side import FEWEST_ROWS, MOST_ROWS, MOST_SESSIONS, Crew, parcels

sizes = st.lists(st.integers(0, 3000), max_size=400)


@given(sizes, st.integers(1, 8))
def test_each_session_is_in_one_parcel_and_the_order_stays(rows, workers):
    sessions = [(f"s{n}", count) for n, count in enumerate(rows)]
    made = list(parcels(sessions, workers))
    assert [one for parcel in made for one in parcel] == [session for session, _ in sessions]
    assert all(0 < len(parcel) <= MOST_SESSIONS for parcel in made)


@given(sizes, st.integers(1, 8))
def test_no_parcel_is_larger_than_it_must_be(rows, workers):
    sessions = {f"s{n}": count for n, count in enumerate(rows)}
    for parcel in parcels(list(sessions.items()), workers):
        assert sum(sessions[one] for one in parcel[:-1]) < MOST_ROWS


def test_the_last_ones_are_small_so_that_all_end_together():
    sessions = [(f"s{n}", 40) for n in range(2_000)]
    rows = [40 * len(parcel) for parcel in parcels(sessions, 2)]
    assert rows[0] == MOST_ROWS
    assert rows[:-1] == sorted(rows[:-1], reverse=True)
    assert max(rows[-2:]) <= FEWEST_ROWS + 40


def test_many_short_sessions_are_not_one_parcel():
    assert len(list(parcels([(f"s{n}", 1) for n in range(1_000)], 2))) == 10


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
    with Crew(begin, ("ready",), workers=1) as crew, pytest.raises(ValueError, match="s0"):
        list(crew.does(trouble, SESSIONS))


def test_it_ends_early_when_it_is_stopped():
    seen = []
    with Crew(begin, ("ready",), workers=2, lends_a_hand=True) as crew:
        for one in crew.does(work, SESSIONS, here=work, stopped=lambda: bool(seen)):
            seen.append(one)
    assert 0 < sum(len(parcel) for *_, parcel in seen) < len(SESSIONS)
