"""The five events of a turn, as every surface sees them. The names never change; what is new
travels as a new `stage` of `progress`, so old clients keep working."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from json.encoder import encode_basestring
from types import MappingProxyType
from typing import ClassVar

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json, Message

CONTRACT_VERSION = 1  # the version of what is on the wire; grows only when an old client would misread something
STAGES = (
    "prepare",
    "queued",
    "running",
    "thinking",
    "tool",
    "task",
    "template",
    "memory",
    "approval",
    "compaction",
    "handoff",
)
EMPTY: Mapping[str, Json] = MappingProxyType({})


def empty_mapping() -> Mapping[str, Json]:
    """The empty mapping, as a default."""
    return EMPTY


@dataclass(frozen=True, slots=True)
class Metadata:
    """A turn begins: which session, which turn, which runtime, which version of this contract."""

    name: ClassVar[str] = "metadata"
    session_id: str = ""
    turn_id: str = ""
    runtime: str = ""
    model: str = ""
    contract: int = CONTRACT_VERSION
    detail: Mapping[str, Json] = field(default_factory=empty_mapping)


@dataclass(frozen=True, slots=True)
class Progress:
    """Something is happening that is not answer text: preparing, thinking, a tool, an approval."""

    name: ClassVar[str] = "progress"
    stage: str  # one of STAGES; clients pass over those they do not know
    detail: Mapping[str, Json] = field(default_factory=empty_mapping)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the visible answer. Visible text is only here."""

    name: ClassVar[str] = "chunk"
    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn could not be finished, and why. At most one in a turn."""

    name: ClassVar[str] = "error"
    code: str
    message: str
    hint: str = ""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is over. Exactly one in a turn, always last."""

    name: ClassVar[str] = "done"
    status: str = "completed"  # completed, failed, cancelled, interrupted
    usage: Mapping[str, Json] = field(default_factory=empty_mapping)
    messages: tuple[str, ...] = ()


Event = Metadata | Progress | Chunk | Failed | Done
Yielded = Event | Message
_JSON = json.JSONEncoder(ensure_ascii=False)
_BY_NAME: dict[str, type[Event]] = {kind.name: kind for kind in (Metadata, Progress, Chunk, Failed, Done)}


def encode_event(event: Event) -> tuple[str, str]:
    """The event's name and its data as JSON text."""
    if isinstance(event, Chunk) and isinstance(event.text, str):  # nearly all of them
        return event.name, f'{{"text": {encode_basestring(event.text)}}}'
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    plain = {key: dict(value) if isinstance(value, Mapping) else value for key, value in values.items()}
    return event.name, _JSON.encode(plain)


def changes_lists(items: Iterable[Yielded]) -> bool:
    """Whether these change how a session looks in a list. Pieces of an answer do not: a message follows them."""
    return not all(isinstance(item, Chunk) for item in items)


def decode_event(name: str, data: str) -> Event:
    """The event of that name; fields this version does not know are left out."""
    kind = _BY_NAME.get(name)
    if kind is None:
        raise BadInput(f'"{name}" is not an event.', hint="Events are metadata, progress, chunk, error and done.")
    known = {field.name for field in fields(kind)}
    try:
        values = {key: value for key, value in json.loads(data).items() if key in known}
        if "messages" in values:
            values["messages"] = tuple(values["messages"])
        return kind(**values)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"The data of the event {name} cannot be read: {error}.", hint="A JSON object with its fields is expected."
        ) from error
