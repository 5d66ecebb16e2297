"""The states of a hand-off and the steps between them."""

import itertools
from typing import get_args

import pytest

from sojourn.core.errors import Conflict
from sojourn.core.handoff import AFTER_BOUND, BEFORE_BOUND, LIVE, OVER, Signal, State, step

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
