"""When each badge was first earned. These records are the one thing here that cannot be counted again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.achievements.shelf import Shelf

NAME = "state.json"


@dataclass(frozen=True, slots=True)
class Unlock:
    """The first time: never changed by later tiers, never removed when a badge is lost again."""

    unlocked_at: int
    first_tier: str | None = None
    evidence: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        return {"unlocked_at": self.unlocked_at, "first_tier": self.first_tier, "evidence": self.evidence}


def load(shelf: Shelf, *, inherited: Path | None = None) -> dict[str, Unlock]:
    """All records. `inherited` is the state.json of another program: its dates count where we have none."""
    data = shelf.read(NAME, lambda raw: _parsed(raw) is not None)
    found = _parsed(data) if data is not None else None
    records = found or {}
    if inherited is not None:
        with suppress(OSError):  # not there, or not for us: then there is nothing to take over
            records = (_parsed(inherited.read_bytes()) or {}) | records
    return records


def save(shelf: Shelf, records: Mapping[str, Unlock]) -> None:
    document = {"unlocks": {badge: record.as_json() for badge, record in records.items()}}
    shelf.write(NAME, json.dumps(document, indent=2, sort_keys=True).encode())


def _parsed(raw: bytes) -> dict[str, Unlock] | None:
    """The records of a document; None if it is not one."""
    try:
        document = json.loads(raw)
        unlocks = document["unlocks"]
        return {badge: _record(value) for badge, value in unlocks.items() if isinstance(value, dict)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _record(value: Mapping[str, Any]) -> Unlock:
    return Unlock(int(value["unlocked_at"]), value.get("first_tier"), value.get("evidence"))
