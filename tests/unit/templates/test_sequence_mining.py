"""Shapes that come back, held against counting them one by one."""

from collections import Counter
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from sojourn.templates.sequence_mining import MAX_STEPS, MIN_STEPS, find_recurring
from sojourn.templates.session_shape import Digest

KINDS = ["terminal make", "read_file .py", "patch .py", "web_search", "terminal git commit"]
histories = st.lists(st.lists(st.sampled_from(KINDS), max_size=9), max_size=12)


def digests(history):
    return {f"s{n}": Digest(tuple(steps), tuple(range(1, 2 * len(steps), 2))) for n, steps in enumerate(history)}


def counted(history, least):
    """Every run of steps in enough sessions and more often than chance, with those sessions."""
    all_steps = Counter(step for steps in history for step in steps)
    total, found = sum(all_steps.values()), {}
    for number, steps in enumerate(history):
        for length in range(MIN_STEPS, MAX_STEPS + 1):
            for at in range(len(steps) - length + 1):
                found.setdefault(tuple(steps[at : at + length]), {}).setdefault(f"s{number}", at)
    return {
        run: where
        for run, where in found.items()
        if len(where) >= least and len(where) >= 3 * total * prod(all_steps[step] / total for step in run) - 1e-9
    }


@given(histories, st.integers(2, 4))
def test_what_comes_back_is_what_counting_finds(history, least):
    everything = counted(history, least)
    found = find_recurring(digests(history), least=least, most=4)
    assert bool(found) == bool(everything)
    for shape in found:
        where = everything[shape.steps]
        assert shape.runs == {
            session: tuple(range(1 + 2 * at, 1 + 2 * (at + len(shape.steps)), 2)) for session, at in where.items()
        }
    assert [shape.score for shape in found] == sorted((shape.score for shape in found), reverse=True)


@given(histories)
def test_nothing_is_said_twice(history):
    found = find_recurring(digests(history), least=2, most=5)
    for one in found:
        for other in found:
            assert one is other or len(set(one.steps) & set(other.steps)) < 0.6 * len(set(one.steps) | set(other.steps))


def test_the_order_of_the_sessions_says_nothing():
    history = [["terminal make", "patch .py", "web_search"], ["web_search", "terminal make", "patch .py"]] * 3
    there = find_recurring(digests(history))
    back = find_recurring(digests(history[::-1]))
    assert [(one.steps, one.score) for one in there] == [(one.steps, one.score) for one in back] != []


def test_a_step_few_sessions_hold_breaks_a_run():
    history = [["terminal make", f"odd {n}", "patch .py"] for n in range(5)] + [["web_search"]] * 20
    assert find_recurring(digests(history)) == []
