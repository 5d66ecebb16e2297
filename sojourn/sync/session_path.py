"""Session path: the messages of a session in order, each with an identity that is the same on every machine.

Two machines that wrote to one session while apart have paths that fork. At a fork the older message goes on in the
session, the other one begins a branch named after it. Every machine decides alike, so all end with the same sessions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, SessionId
from sojourn.text.jsonl_export import parse_message

_BRANCH_MARK = ".branch-"
_FLAG_ORDER = ((True, False), (False, True), (False, False))  # live, summarised, undone: the later one stays


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A message of a path. `seq` is its number on the machine whose path it is."""

    message: Message
    identity: str
    seq: int = 0

    @property
    def order(self) -> tuple[float, str]:
        return (self.message.timestamp, self.identity)

    @property
    def flags(self) -> int:
        flags = (self.message.active, self.message.compacted and not self.message.active)
        return _FLAG_ORDER.index(flags)


def to_step(row: Recorded) -> PathStep:
    message = row.item
    assert isinstance(message, Message)
    known = replace(message, timestamp=message.timestamp or row.at, native_id=message.native_id or row.public_id)
    return _build_step(known, row.seq)


def parse_step(shape: Mapping[str, Any]) -> PathStep:
    seq = shape.get("seq")
    return _build_step(parse_message(shape), seq if type(seq) is int else 0)


def _build_step(message: Message, seq: int) -> PathStep:
    text = f"{message.native_id}\0{message.timestamp!r}\0{message.role}"
    return PathStep(
        message=message, identity=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), seq=seq
    )


def count_common(ours: Sequence[PathStep], theirs: Sequence[PathStep]) -> int:
    """The length of what two paths begin with."""
    common = 0
    for one, other in zip(ours, theirs, strict=False):
        if one.identity != other.identity:
            break
        common += 1
    return common


def join_flags(ours: Sequence[PathStep], theirs: Sequence[PathStep]) -> dict[int, tuple[bool, bool]]:
    """The flags (active, compacted) that steps of ours take over from theirs, by number."""
    return {
        one.seq: _FLAG_ORDER[other.flags] for one, other in zip(ours, theirs, strict=False) if other.flags > one.flags
    }


def name_branch(session: str, first: PathStep) -> SessionId:
    """The id of the branch of a session that begins with a step."""
    return SessionId(f"{root_of(session)}{_BRANCH_MARK}{first.identity[:12]}")


def root_of(session: str) -> str:
    """The session that a branch of ours was made of; any other session is its own."""
    return session.partition(_BRANCH_MARK)[0]


def hash_state(path: Sequence[PathStep], values: Mapping[str, Any]) -> str:
    """Identifies the state of a session: the same on machines that have the same messages, flags and values."""
    state = [[(one.identity, one.flags) for one in path], values]
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
