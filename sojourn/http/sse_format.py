"""What is kept, as server-sent events: a name, a line of JSON, and its number as `id:`.

The same thing is always the same bytes, whoever asks and however often, so that a client which comes
back ends up with what one that never left has.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from pydantic_core import to_json

from sojourn.core.codec import encode_recorded
from sojourn.core.events import Chunk, Event, Metadata
from sojourn.core.messages import Message
from sojourn.core.sessions import Change, Recorded
from sojourn.http import schemas
from sojourn.http.json_safe import replace_surrogates, to_iso_date, to_json_value

HEARTBEAT_FRAME = b":\n\n"
RETRY_FRAME = b"retry: 1000\n\n"  # milliseconds until a browser that lost the line comes back


def event_frame(recorded: Recorded) -> bytes | None:
    """One of the five events, with its own fields, when it was kept and in which turn. None for a message."""
    item = recorded.item
    return None if isinstance(item, Message) else _format(item.name, _encode(recorded, item), recorded.seq)


def log_frame(recorded: Recorded) -> bytes:
    """An event, or a row of the transcript under the name `message`."""
    item = recorded.item
    if isinstance(item, Message):
        return _format("message", schemas.MessageSchema.of(recorded, item).model_dump_json().encode(), recorded.seq)
    return _format(item.name, _encode(recorded, item), recorded.seq)


def exact_frame(recorded: Recorded) -> bytes:
    """For a client of ours, see `core.wire`."""
    name, values = encode_recorded(recorded)
    return _format(name, json.dumps(values).encode(), recorded.seq)


def change_frame(found: Change) -> bytes:
    values = {"n": found.n, "session": to_json_value(found.session), "kind": found.kind, "at": to_iso_date(found.at)}
    return _format(found.kind, to_json(values), found.n)


def cursor_frame(number: int) -> bytes:
    """Only a number: where a client that heard nothing yet can come back to."""
    return b": from here\nid: %d\n\n" % number


def _format(name: str, data: bytes, number: int) -> bytes:
    return b"event: %b\ndata: %b\nid: %d\n\n" % (name.encode(), data, number)


def _encode(recorded: Recorded, item: Event) -> bytes:
    if isinstance(item, Chunk):  # nearly all of them
        values: dict[str, Any] = {"text": replace_surrogates(item.text)}
    else:
        values = {one.name: to_json_value(getattr(item, one.name)) for one in fields(item)}
    if isinstance(item, Metadata):
        values["session_id"] = values["session_id"] or recorded.session
    values["at"], values["turn_id"] = to_iso_date(recorded.at), recorded.turn or values.get("turn_id")
    return to_json(values, inf_nan_mode="null")
