"""Between records and rows: what every store writes for a record, and what it says when it may not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.messages import Json
from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.records import Record
from sojourn.text.escape import escape, unescape
from sojourn.text.redaction import Redactor


def record_row(record: Record, redact: Redactor, *, now: float) -> dict[str, Any]:
    """A new record's columns. Kind and key are names, compared exactly, so only the value is blacked out."""
    if not record.kind or not record.key:
        raise BadInput("A record needs a kind and a key.", hint="Give both a name.")
    return {
        "kind": escape(record.kind),
        "key": escape(record.key),
        "value": json_text(record.value, redact),
        "principal": escape(record.principal),
        "session_id": record.session,
        "revision": 1,
        "created_at": now,
        "updated_at": now,
    }


def json_text(value: Json, redact: Redactor) -> str:
    """A document as it may be kept."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"This is no JSON: {error}.", hint="Use texts, numbers, lists and dictionaries.") from error
    return escape(redact(text))


def json_value(text: str) -> Json:
    return json.loads(unescape(text))


def record_from(row: Mapping[str, Any]) -> Record:
    """The record a row holds."""
    session = row["session_id"]
    return Record(
        kind=unescape(row["kind"]),
        key=unescape(row["key"]),
        value=json_value(row["value"]),
        principal=Principal(unescape(row["principal"])),
        session=None if session is None else SessionId(session),
        revision=row["revision"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def not_as_expected(kind: str, key: str, *, expect: int, found: int) -> Conflict:
    """Somebody else was quicker; `found` is the revision there now, 0 when there is none."""
    if not found:
        now = "it is gone"
    elif not expect:
        now = f"it is already there (revision {found})"
    else:
        now = f"it is at revision {found}, not {expect}"
    return Conflict(f'{kind} "{key}" was changed by somebody else: {now}.', hint="Read it again and repeat the change.")


def after_prefix(prefix: str) -> str | None:
    """The first text, in order of code points, that comes after all texts with this beginning; None at the end."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at]) + 1
        if code <= 0x10FFFF:
            return prefix[:at] + chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)
    return None
