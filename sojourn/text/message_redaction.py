"""Redaction of whole messages, before a transaction begins: inside it, nothing is left to do."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any

from sojourn.core.messages import Message
from sojourn.text.redaction import Redacted, Redactor

_FIELDS = tuple(field.name for field in fields(Message))
# Fields that may hold a secret. A native id is compared character by character, so redaction must not change it.
TEXT_FIELDS = frozenset(_FIELDS) - {
    "role",
    "native_id",
    "timestamp",
    "token_count",
    "structured",
    "observed",
    "active",
    "compacted",
}
_values = attrgetter(*_FIELDS)


def redact_message(message: Message, redact: Redactor) -> Message:
    values: dict[str, Any] = dict(zip(_FIELDS, _values(message), strict=True))
    for name in TEXT_FIELDS:
        if values[name]:
            values[name] = Redacted(redact(values[name]))
    return Message(**values)
