"""Work in parcels: everything once, large parcels first, small ones at the end."""

from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.side_by_side import FEWEST_ROWS, MOST_ROWS, MOST_SESSIONS, parcels

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
