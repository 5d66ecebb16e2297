"""Values that JSON can carry: an answer must not fail, whatever was stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from sojourn.text.formatting import to_iso

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DATE = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}
_MAX_DEPTH_LEVELS = 60  # levels; what is nested deeper goes out as JSON text


def replace_surrogates(text: Any) -> Any:
    """Bytes that never were UTF-8 are kept as surrogates; JSON cannot say them, so they show as U+FFFD."""
    return text if not isinstance(text, str) or text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def to_json_value(value: Any, depth: int = 0) -> Any:
    """The same value, made only of what JSON has."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, (list, tuple, Mapping)) and depth >= _MAX_DEPTH_LEVELS:
        return replace_surrogates(_as_text(value))
    if isinstance(value, Mapping):
        return {str(replace_surrogates(key)): to_json_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(inner, depth + 1) for inner in value]
    return value


def _as_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "…"


def to_iso_date(stamp: Any) -> Any:
    """Seconds as ISO 8601 in UTC (see `to_iso`); any other value as it is."""
    return _to_iso(stamp) if isinstance(stamp, (int, float)) else stamp


_to_iso = lru_cache(maxsize=256)(to_iso)  # entries that were stored together have the same time


def _require_date(text: Any) -> Any:
    """A bare number could mean anything, so it is not taken for a date."""
    if isinstance(text, str) and not re.match(r"\d{4}-", text):
        raise ValueError("a date like 2026-01-31 or 2026-01-31T18:00:00Z is needed")
    return text


def _require_integer(value: Any) -> Any:
    """In a body, `true` and `"3"` are not numbers; `3.0` is, as JSON sees it."""
    if isinstance(value, (bool, str)):
        raise ValueError("a whole number is needed")
    return value


def to_number(value: Any) -> float | None:
    """A number as a float; None for any other value, booleans included."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def to_timestamp(when: datetime | None) -> float | None:
    """A date as it is kept; one that names no zone means UTC."""
    if when is None:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


Text = Annotated[str, BeforeValidator(replace_surrogates)]
JsonSafe = Annotated[Any, BeforeValidator(to_json_value)]
Instant = Annotated[datetime, BeforeValidator(_require_date)]
Revision = Annotated[int, Field(ge=0, lt=10**18), BeforeValidator(_require_integer)]
IsoDate = Annotated[str | None, BeforeValidator(to_iso_date), WithJsonSchema(_DATE)]
