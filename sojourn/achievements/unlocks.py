"""Unlock records: when each badge was first earned. They cannot be computed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sojourn.achievements.document_store import DocumentStore

NAME = "state.json"


@dataclass(frozen=True, slots=True)
class Unlock:
    """The first unlock of a badge; later tiers do not change it, and losing the badge does not remove it.

    Its fields are the keys of the document.
    """

    unlocked_at: int
    first_tier: str | None = None
    evidence: Mapping[str, Any] | None = None


def load(documents: DocumentStore, *, inherited: Path | None = None) -> dict[str, Unlock]:
    """Reads all records. `inherited` is the state.json of another program, used for badges without a record."""
    data = documents.read(NAME, lambda raw: _parse(raw) is not None)
    if data is None:  # no good copy: take what can be parsed
        data = documents.read(NAME, lambda raw: True)
    records = _parse(data, partly=True) or {} if data is not None else {}
    if inherited is not None:
        with suppress(OSError):  # missing or unreadable: nothing to adopt
            records = (_parse(inherited.read_bytes(), partly=True) or {}) | records
    return records


def are_saved(documents: DocumentStore, records: Mapping[str, Unlock]) -> bool:
    """Whether the document, not only its copy, has exactly these records."""
    data = documents.read(NAME, lambda raw: True)
    return not records if data is None else _parse(data) == records


def save(documents: DocumentStore, records: Mapping[str, Unlock]) -> None:
    document = {"unlocks": {badge: asdict(record) for badge, record in records.items()}}
    documents.write(NAME, json.dumps(document, indent=2, sort_keys=True).encode())


def _parse(raw: bytes, *, partly: bool = False) -> dict[str, Unlock] | None:
    """Parses a document; None if it is invalid. With `partly`, invalid records are left out instead."""
    try:
        unlocks = json.loads(raw)["unlocks"].items()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    records = {badge: _to_unlock(value) for badge, value in unlocks if isinstance(value, dict)}
    found = {badge: record for badge, record in records.items() if record is not None}
    return found if partly or len(found) == len(records) else None


def _to_unlock(value: Mapping[str, Any]) -> Unlock | None:
    try:
        return Unlock(int(value["unlocked_at"]), value.get("first_tier"), value.get("evidence"))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
