"""How far an agent's own memory of a session reaches, and what it therefore has to be told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import assistant, user
from sojourn.core.sessions import TurnId
from sojourn.ports.runtime import HistoryEntry, TurnInput
from sojourn.runtimes.acp.permissions import map_options
from sojourn.runtimes.acp.prompt import SeenHistory, build_state
from sojourn.runtimes.acp.prompt_call import NO_USAGE, AgentUsage, parse_usage
from sojourn.testing.turn_runner import FakeWorkspace, make_turn_input

ROOM = FakeWorkspace(root=Path("/work"), turn=TurnId("t_now"))


def heard(*turns: str | None) -> tuple[HistoryEntry, ...]:
    """A transcript: for each turn a request and an answer."""
    said = [replace(one, turn_id=turn) for turn in turns for one in (user("?"), assistant("!"))]
    return tuple(HistoryEntry(seq, message) for seq, message in enumerate(said, 1))


def turn(history: tuple[HistoryEntry, ...]) -> TurnInput:
    return make_turn_input("Now.", room=ROOM, history=history)


def known_after(history: tuple[HistoryEntry, ...], **changed: Any) -> SeenHistory:
    return SeenHistory.from_state({**build_state(turn(history), "s1", None, NO_USAGE), **changed})


@pytest.mark.parametrize(
    ("before", "now", "holds"),
    [
        (("t_1",), ("t_1", "t_now"), True),
        ((), ("t_now",), True),
        (("t_1",), ("t_1", "t_now", "t_other"), True),
        (("t_1",), ("t_1",), False),  # the turn it answered was undone
        (("t_1", "t_2"), ("t_1", "t_now"), False),  # something before it was
        (("t_1",), ("t_1", None), True),  # a store that does not say which turn a message belongs to
        ((), (), False),
    ],
)
def test_a_session_of_the_agent_is_good_as_long_as_nothing_it_knows_is_gone(
    before: tuple[str, ...], now: tuple[str | None, ...], holds: bool
) -> None:
    assert known_after(heard(*before)).is_valid_for(turn(heard(*now))) == holds


def test_work_in_another_folder_begins_anew() -> None:
    assert not known_after(heard(), cwd="/elsewhere").is_valid_for(turn(heard("t_now")))


def test_what_others_did_meanwhile_is_unseen() -> None:
    known = known_after(heard("t_1"))
    assert [past.seq for past in known.unseen(heard("t_1", "t_now", "t_other"))] == [5, 6]


@pytest.mark.parametrize("state", [{}, {"session_id": None, "seen": "x", "usage": ["a"], "blocks": 3}, {"usage": [1]}])
def test_a_state_that_cannot_be_read_counts_as_never_seen(state: dict[str, Any]) -> None:
    assert not SeenHistory.from_state(state).is_valid_for(turn(heard("t_1")))


def test_usage_is_what_the_session_grew_by() -> None:
    assert AgentUsage(30, 9).since(AgentUsage(10, 4)) == {"input_tokens": 20, "output_tokens": 5, "total_tokens": 25}
    assert AgentUsage(5, 2).since(AgentUsage(10, 4))["input_tokens"] == 5, "a restarted agent counts from the beginning"
    assert parse_usage({"usage": {"inputTokens": "many"}}) is None


def test_options_become_our_words() -> None:
    options = [
        {"optionId": "a", "kind": "allow_once", "name": "Allow"},
        {"optionId": "b", "kind": "allow_always", "name": "Allow for session"},
        {"optionId": "c", "kind": "allow_always", "name": "Always"},
        {"optionId": "d", "kind": "reject_always", "name": "Never"},
        "nonsense",
    ]
    assert map_options(options) == {"once": "a", "session": "b", "always": "c", "deny": "d"}
    assert map_options(None) == {}
