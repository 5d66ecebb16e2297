"""Events of a turn: the five kinds of the SSE contract. `text/event_codec.py` encodes them.

The names never change. New information travels as a new `stage` of `progress`, so old clients keep working.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from sojourn.core.messages import Json, Message
from sojourn.core.progress import DETAILS

CONTRACT_VERSION = 1  # grows only when an old client would misread an event
STAGES = tuple(DETAILS)
EMPTY: Mapping[str, Json] = MappingProxyType({})


def empty_mapping() -> Mapping[str, Json]:
    """Default factory for mapping fields."""
    return EMPTY


@dataclass(frozen=True, slots=True)
class Metadata:
    """First event of a turn: its session, turn, runtime, model and contract version."""

    name: ClassVar[str] = "metadata"
    session_id: str = ""
    turn_id: str = ""
    runtime: str = ""
    model: str = ""
    contract: int = CONTRACT_VERSION
    detail: Mapping[str, Json] = field(default_factory=empty_mapping)


@dataclass(frozen=True, slots=True)
class Progress:
    """A step that is not answer text: preparation, thinking, a tool call, an approval."""

    name: ClassVar[str] = "progress"
    stage: str  # one of STAGES; clients ignore unknown ones
    detail: Mapping[str, Json] = field(default_factory=empty_mapping)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the visible answer; no other event carries answer text."""

    name: ClassVar[str] = "chunk"
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Why the turn could not finish. At most one per turn."""

    name: ClassVar[str] = "error"
    code: str
    message: str
    hint: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """Last event of a turn; exactly one per turn."""

    name: ClassVar[str] = "done"
    status: str = "completed"  # completed, failed, cancelled, interrupted
    usage: Mapping[str, Json] = field(default_factory=empty_mapping)
    messages: tuple[str, ...] = ()


Event = Metadata | Progress | Chunk | Failed | Done
Yielded = Event | Message
