"""JSON of a chat network, read with suspicion: what is missing or of another type is empty."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import httpx2


def parse_object(value: object) -> dict[str, Any]:
    """A JSON object, or the text of one; empty if it is none."""
    try:
        document = json.loads(value) if isinstance(value, str | bytes) else value
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def parse_body(reply: httpx2.Response) -> object:
    """The body of a response; None if it is not JSON."""
    try:
        return reply.json()
    except (ValueError, RecursionError):
        return None


def read_text(page: object, key: str) -> str:
    value = page.get(key) if isinstance(page, dict) else None
    return value if isinstance(value, str) else ""


def read_object(page: object, key: str) -> dict[str, Any]:
    value = page.get(key) if isinstance(page, dict) else None
    return value if isinstance(value, dict) else {}


def read_objects(page: object, key: str) -> list[dict[str, Any]]:
    """The objects of a list; its other items are left out."""
    value = page.get(key) if isinstance(page, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def read_time(page: object, key: str, *, per_second: int = 1) -> float:
    """The time in a field, in seconds since 1970: of a number or of digits, or of a date as in ISO 8601. 0 without."""
    value = page.get(key) if isinstance(page, dict) else None
    if isinstance(value, str) and "T" in value:
        return parse_date(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 10**11 * per_second:
        return 0.0
    return value / per_second


def parse_date(text: str) -> float:
    """Seconds since 1970 of a date as in ISO 8601; 0 if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp() if "T" in text else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0


def to_json(value: object) -> str:
    """JSON with letters as they are: networks count bytes."""
    return json.dumps(value, ensure_ascii=False)
