"""Events of a turn: the five kinds of the SSE contract, and their JSON codec.

The names never change. New information travels as a new `stage` of `progress`, so old clients keep working.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from json.encoder import encode_basestring
from types import MappingProxyType
from typing import ClassVar

from sojourn.core.errors import BadInput
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
_JSON = json.JSONEncoder(ensure_ascii=False)
_BY_NAME: dict[str, type[Event]] = {kind.name: kind for kind in (Metadata, Progress, Chunk, Failed, Done)}
FIELDS = {kind: tuple(one.name for one in fields(kind)) for kind in _BY_NAME.values()}


def encode_event(event: Event) -> tuple[str, str]:
    """Encodes an event as its name and JSON text."""
    if isinstance(event, Chunk) and isinstance(event.text, str):  # the fast path: nearly all events
        return event.name, f'{{"text": {encode_basestring(event.text)}}}'
    values = {name: getattr(event, name) for name in FIELDS[type(event)]}
    plain = {key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    return event.name, _JSON.encode(plain)


def decode_event(name: str, data: str) -> Event:
    """Decodes an event; unknown fields are dropped. BadInput."""
    kind = _BY_NAME.get(name)
    if kind is None:
        raise BadInput(f'"{name}" is not an event.', hint="Events are metadata, progress, chunk, error and done.")
    try:
        values = {key: value for key, value in json.loads(data).items() if key in FIELDS[kind]}
        if "messages" in values:
            values["messages"] = tuple(values["messages"])
        return kind(**values)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"The data of the event {name} cannot be read: {error}.", hint="A JSON object with its fields is expected."
        ) from error
