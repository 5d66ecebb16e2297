"""Our values as JSON and back, exactly: what a server of ours tells a client of ours.

The API rounds times and unpacks structured texts for people; between our own processes nothing is lost.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sojourn.core.events import Event, decode, encode
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Recorded, SessionId, TurnId

T = TypeVar("T")


def to_wire(value: Any) -> Json:
    """A dataclass becomes an object of its fields, whatever is in it likewise."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_wire(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_wire(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_wire(inner) for inner in value]
    return value


def from_wire(kind: type[T], raw: Mapping[str, Json]) -> T:
    """The value of that kind; fields this version does not know are left out."""
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(**{name: _made(hints[name], value) for name, value in raw.items() if name in hints})


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    known = {one.name for one in fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in known}


def _made(hint: Any, raw: Json) -> Any:
    if raw is None:
        return None
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _made(next(arg for arg in args if arg is not type(None)), raw)
    if origin is tuple:
        each = [args[0]] * len(raw) if args[-1] is Ellipsis else args
        return tuple(_made(one, inner) for one, inner in zip(each, raw, strict=True))
    return from_wire(hint, raw) if isinstance(hint, type) and is_dataclass(hint) else raw


def cursor(last_active: float, session: str) -> str:
    """Where a list of sessions goes on, as one word that needs no escaping in an address."""
    return f"{struct.pack('>d', last_active).hex()}-{session.encode('utf-8', 'surrogatepass').hex()}"


def place(cursor: str) -> tuple[float, str]:
    """The place a cursor stands for."""
    moment, _, name = cursor.partition("-")
    return struct.unpack(">d", bytes.fromhex(moment))[0], bytes.fromhex(name).decode("utf-8", "replace")


def recorded_to_wire(recorded: Recorded) -> tuple[str, Json]:
    """The name of what was kept (an event's, or `message`) and all about it."""
    item = recorded.item
    name, inner = ("message", to_wire(item)) if isinstance(item, Message) else (item.name, encode(item)[1])
    return name, {"session": recorded.session, "at": recorded.at, "turn": recorded.turn, "item": inner}


def recorded_from_wire(name: str, seq: int, raw: Mapping[str, Json]) -> Recorded:
    item: Message | Event = from_wire(Message, raw["item"]) if name == "message" else decode(name, raw["item"])
    turn = TurnId(raw["turn"]) if raw["turn"] else None
    return Recorded(session=SessionId(raw["session"]), seq=seq, at=raw["at"], item=item, turn=turn)
