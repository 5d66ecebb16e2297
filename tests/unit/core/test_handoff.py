"""The states of a hand-off and the steps between them."""

import itertools
from typing import Any, get_args

import pytest

from sojourn.core.errors import Conflict
from sojourn.core.handoff import (
    AFTER_BOUND,
    BEFORE_BOUND,
    LIVE,
    OVER,
    Handoff,
    HandoffId,
    Signal,
    State,
    driver_reverts,
    in_progress,
    is_stale,
    is_waiting,
    new_handoff_id,
    step,
    visible_state,
)
from sojourn.core.sessions import SessionId

ALLOWED = {
    ("requested", "claim"): "claimed",
    **{(state, signal): state for state in LIVE[1:] for signal in ("claim", "renew")},
    ("claimed", "thread_ready"): "thread_ready",
    ("claimed", "bound"): "bound",
    ("thread_ready", "bound"): "bound",
    ("bound", "turn_done"): "turn_done",
    ("bound", "delivered"): "delivered",
    ("turn_done", "delivered"): "delivered",
    **{(state, "complete"): "completed" for state in ("bound", "turn_done", "delivered")},
    **{(state, "fail"): "failed" for state in LIVE[1:]},
    **{(state, "cancel"): "cancelled" for state in ("requested", "claimed", "thread_ready")},
    ("requested", "expire"): "expired",
    **{(state, "abandon"): "expired" for state in ("requested", "claimed", "thread_ready")},
}


def a_handoff(state: State, **fields: Any) -> Handoff:
    return Handoff(
        id=HandoffId("h_1"), session=SessionId("s"), from_surface="cli", platform="telegram", state=state, **fields
    )


@pytest.mark.parametrize(("state", "signal"), list(itertools.product(get_args(State), get_args(Signal))))
def test_each_step_leads_where_it_should_or_is_refused(state, signal):
    if (state, signal) in ALLOWED:
        assert step(state, signal) == ALLOWED[state, signal]
    else:
        with pytest.raises(Conflict, match=signal) as refused:
            step(state, signal)
        assert refused.value.hint


def test_what_is_over_stays_over():
    assert not {state for state, _ in ALLOWED} & set(OVER)
    assert set(get_args(State)) == {*LIVE, *OVER}


def test_nothing_comes_after_bound_without_it():
    before = {to for (state, _), to in ALLOWED.items() if state in BEFORE_BOUND and to in AFTER_BOUND}
    assert before == {"bound"}
    assert not [key for key, to in ALLOWED.items() if to == "completed" and key[0] in BEFORE_BOUND]


def test_the_row_of_a_session_knows_four_words():
    assert [visible_state(state) for state in get_args(State)] == [
        "pending",
        *["running"] * 5,
        "completed",
        "failed",
        "failed",
        "failed",
    ]


def test_the_wheel_goes_back_while_nobody_has_heard_an_answer():
    assert [state for state in LIVE if driver_reverts(state)] == ["bound", "turn_done"]


@pytest.mark.parametrize("state", LIVE)
def test_who_may_pick_it_up_and_when_it_is_stale(state):
    late = a_handoff(state, deadline=10, until=20)
    early = a_handoff(state, deadline=100, until=20)
    has_arrived = state in AFTER_BOUND
    assert is_waiting(early, 5) is (state == "requested")
    assert is_waiting(early, 30) is True
    assert is_waiting(late, 30) is has_arrived
    assert is_stale(late, 30) is not has_arrived
    assert not is_stale(late, 15)
    assert not is_stale(early, 30)


def test_a_refusal_names_the_session_where_it_goes_and_the_attempt():
    words = str(in_progress(a_handoff("claimed")))
    assert all(part in words for part in ('"s"', "telegram", "h_1"))


def test_ids_are_never_the_same():
    assert len({new_handoff_id() for _ in range(100)}) == 100
    assert new_handoff_id().startswith("h_")
