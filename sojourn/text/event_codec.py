"""Event codec: the JSON of events, as it is stored and sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from json.encoder import encode_basestring

from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk, Done, Event, Failed, Metadata, Progress

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_BY_NAME: dict[str, type[Event]] = {kind.name: kind for kind in (Metadata, Progress, Chunk, Failed, Done)}
_USUAL: dict[type[Event], dict[str, object]] = {  # `contract` is not among them: it may grow
    Metadata: {"session_id": "", "turn_id": "", "runtime": "", "model": "", "detail": {}},
    Progress: {"detail": {}},
    Chunk: {},
    Failed: {"hint": "", "retryable": False},
    Done: {"status": "completed", "usage": {}, "messages": ()},
}
FIELDS = {kind: tuple(one.name for one in fields(kind)) for kind in _BY_NAME.values()}


def encode_event(event: Event, *, is_brief: bool = False) -> tuple[str, str]:
    """Encodes an event as its name and JSON text. `is_brief`: without the fields that have their usual value."""
    if isinstance(event, Chunk) and isinstance(event.text, str):  # the fast path: nearly all events
        return event.name, f'{{"text":{encode_basestring(event.text)}}}'
    values = {name: getattr(event, name) for name in FIELDS[type(event)]}
    if is_brief:
        usual = _USUAL[type(event)]
        values = {name: value for name, value in values.items() if name not in usual or value != usual[name]}
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
