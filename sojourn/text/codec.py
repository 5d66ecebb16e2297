"""Lossless JSON codec for dataclasses, log entries and errors, used between our own client and server.

The public API rounds times and unpacks structured text for people; this codec does neither.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache, partial
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sojourn.core.errors import SojournError
from sojourn.core.events import Event
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Recorded, SessionId, TurnId
from sojourn.text.event_codec import decode_event, encode_event

T = TypeVar("T")
Decoder = Callable[[Json], Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode_value(value: Any) -> Json:
    """Encodes a value; a dataclass becomes an object of its fields, recursively."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if (names := field_names(kind)) is not None:  # type: ignore[arg-type]  # a class is hashable
        return {name: encode_value(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): encode_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode_value(inner) for inner in value]
    return value


def decode_value(kind: type[T], raw: Mapping[str, Json]) -> T:
    """Decodes a dataclass; unknown fields are dropped."""
    decoders: dict[str, Decoder | None] = _decoders(kind)  # type: ignore[arg-type]  # a class is hashable
    return kind(**{name: _decode(decoders[name], value) for name, value in raw.items() if name in decoders})


@lru_cache(maxsize=1024)
def field_names(kind: type) -> tuple[str, ...] | None:
    """Names the fields of a dataclass; None for any other type."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) else None


@lru_cache(maxsize=1024)
def _decoders(kind: type) -> dict[str, Decoder | None]:
    """Maps each field to its decoder; None where the raw value is used. Type hints are resolved once."""
    known = field_names(kind) or ()
    return {name: _find_decoder(hint) for name, hint in get_type_hints(kind).items() if name in known}


def _find_decoder(hint: Any) -> Decoder | None:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _find_decoder(next(arg for arg in args if arg is not type(None)))
    if origin is tuple and args[-1] is Ellipsis:
        each = _find_decoder(args[0])
        return lambda raw: tuple(_decode(each, inner) for inner in raw)
    if origin is tuple:
        decoders = [_find_decoder(one) for one in args]
        return lambda raw: tuple(_decode(one, inner) for one, inner in zip(decoders, raw, strict=True))
    return partial(decode_value, hint) if isinstance(hint, type) and is_dataclass(hint) else None


def _decode(decoder: Decoder | None, raw: Json) -> Any:
    return raw if decoder is None or raw is None else decoder(raw)


def make_cursor(last_active: float, session: str) -> str:
    """Encodes the position in a session list as a URL-safe cursor."""
    return f"{struct.pack('>d', last_active).hex()}-{session.encode('utf-8', 'surrogatepass').hex()}"


def parse_cursor(cursor: str) -> tuple[float, str]:
    """Decodes a cursor into (last_active, session id)."""
    moment, _, name = cursor.partition("-")
    return struct.unpack(">d", bytes.fromhex(moment))[0], bytes.fromhex(name).decode("utf-8", "replace")


def encode_recorded(recorded: Recorded) -> tuple[str, Json]:
    """Encodes a log entry as its event name (or `message`) and its data."""
    item = recorded.item
    name, inner = ("message", encode_value(item)) if isinstance(item, Message) else (item.name, encode_event(item)[1])
    return name, {"session": recorded.session, "at": recorded.at, "turn": recorded.turn, "item": inner}


def decode_recorded(name: str, seq: int, raw: Mapping[str, Json]) -> Recorded:
    item: Message | Event = decode_value(Message, raw["item"]) if name == "message" else decode_event(name, raw["item"])
    turn = TurnId(raw["turn"]) if raw["turn"] else None
    return Recorded(session=SessionId(raw["session"]), seq=seq, at=raw["at"], item=item, turn=turn)


def error_class(code: str) -> type[SojournError]:
    """Finds the error class of a code; SojournError for codes of newer versions."""
    known = [SojournError]
    for kind in known:
        if kind.code == code:
            return kind
        known.extend(kind.__subclasses__())
    return SojournError


def error_from_code(code: str, message: str, *, hint: str = "", about: Mapping[str, Any] | None = None) -> SojournError:
    """Rebuilds an error that another process raised; `about` holds its attributes."""
    kind = error_class(code)
    error = kind.__new__(kind)
    SojournError.__init__(error, message, hint=hint)
    vars(error).update(about or {})
    return error
