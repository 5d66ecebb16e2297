"""JSON of a chat network, read with suspicion: what is missing or of another type is empty."""

from __future__ import annotations

import json
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


def to_json(value: object) -> str:
    """JSON with letters as they are: networks count bytes."""
    return json.dumps(value, ensure_ascii=False)
