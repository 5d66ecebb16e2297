"""What the store derives from the state and the deadlines of a hand-off."""

from typing import Any, get_args

import pytest

from sojourn.core.handoff import AFTER_BOUND, LIVE, Handoff, HandoffId, State
from sojourn.core.sessions import SessionId
from sojourn.stores.sql.handoff_rules import (
    driver_reverts,
    in_progress,
    is_stale,
    is_waiting,
    new_handoff_id,
    visible_state,
)


def a_handoff(state: State, **fields: Any) -> Handoff:
    return Handoff(
        id=HandoffId("h_1"), session=SessionId("s"), from_surface="cli", platform="telegram", state=state, **fields
    )


def test_the_row_of_a_session_knows_four_words():
    assert [visible_state(state) for state in get_args(State)] == [
        "pending",
        *["running"] * 5,
        "completed",
        "failed",
        "failed",
        "failed",
    ]


def test_the_sender_drives_again_if_nothing_was_delivered():
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
