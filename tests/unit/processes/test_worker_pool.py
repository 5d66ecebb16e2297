"""Batches of sessions: everything once, large batches first, small ones at the end."""

from hypothesis import given
from hypothesis import strategies as st

from sojourn.processes.worker_pool import MAX_BATCH_ROWS, MAX_BATCH_SESSIONS, MIN_BATCH_ROWS, batches

sizes = st.lists(st.integers(0, 3000), max_size=400)


@given(sizes, st.integers(1, 8))
def test_each_session_is_in_one_batch_and_the_order_stays(rows, workers):
    sessions = [(f"s{n}", count) for n, count in enumerate(rows)]
    made = list(batches(sessions, workers))
    assert [one for batch in made for one in batch] == [session for session, _ in sessions]
    assert all(0 < len(batch) <= MAX_BATCH_SESSIONS for batch in made)


@given(sizes, st.integers(1, 8))
def test_no_batch_is_larger_than_it_must_be(rows, workers):
    sessions = {f"s{n}": count for n, count in enumerate(rows)}
    for batch in batches(list(sessions.items()), workers):
        assert sum(sessions[one] for one in batch[:-1]) < MAX_BATCH_ROWS


def test_the_last_ones_are_small_so_that_all_end_together():
    sessions = [(f"s{n}", 40) for n in range(2_000)]
    rows = [40 * len(batch) for batch in batches(sessions, 2)]
    assert rows[0] == MAX_BATCH_ROWS
    assert rows[:-1] == sorted(rows[:-1], reverse=True)
    assert max(rows[-2:]) <= MIN_BATCH_ROWS + 40


def test_many_short_sessions_are_not_one_batch():
    assert len(list(batches([(f"s{n}", 1) for n in range(1_000)], 2))) == 10
