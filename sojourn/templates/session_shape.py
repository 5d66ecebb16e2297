"""The shape of a session: which kinds of steps came one after the other, without what varies from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from sys import intern

from sojourn.ports.history import RawExchange, SessionFacts
from sojourn.templates import tool_names
from sojourn.templates.extract import judge_call
from sojourn.templates.judge.shell_command import to_skeleton
from sojourn.templates.tool_calls import Exchange, build_conversation

VERSION = "4"  # grows when shapes change: then everything is read again
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,8})$")


@dataclass(frozen=True, slots=True)
class Digest:
    """What mining needs to know of a session: the steps that seem to have worked, and the place of each among its
    calls. The same step again and again is one step."""

    steps: tuple[str, ...]
    places: tuple[int, ...]


def digest_session(rows: Sequence[RawExchange]) -> Digest:
    steps: list[str] = []
    places: list[int] = []
    calls = build_conversation(rows).exchanges
    for place, call in enumerate(calls):
        found = intern(to_step(call))  # there are few kinds and many steps
        is_repeated = bool(steps) and steps[-1] is found
        if not is_repeated and judge_call(call).success:
            steps.append(found)
            places.append(place)
    return Digest(tuple(steps), tuple(places))


def to_step(exchange: Exchange) -> str:
    """The kind of step a call is: `terminal git status`, `read_file .py`, `web_search`."""
    kind = tool_names.kind(exchange.tool)
    if kind == "terminal":
        command = tool_names.command_of(exchange.parse_arguments())
        return f"{kind} {to_skeleton(command)}".rstrip()
    if kind in ("read_file", "write_file", "patch"):
        path = tool_names.path_of(exchange.parse_arguments())
        suffix = _SUFFIX.search(path)
        return f"{kind} .{suffix[1].lower()}" if suffix else kind
    return kind


def fingerprint(facts: SessionFacts) -> str:
    """Changes when the session's live rows may have."""
    return json.dumps([VERSION, facts.rows, facts.active_rows, facts.last_row, facts.rewinds])
