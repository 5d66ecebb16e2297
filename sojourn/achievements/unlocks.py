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

    def to_json(self) -> dict[str, Any]:
        return {"unlocked_at": self.unlocked_at, "first_tier": self.first_tier, "evidence": self.evidence}


def load(shelf: Shelf, *, inherited: Path | None = None) -> dict[str, Unlock]:
    """All records. `inherited` is the state.json of another program: its dates count where we have none."""
    data = shelf.read(NAME, lambda raw: _parse(raw) is not None)
    if data is None:  # no copy is whole: one odd record must not cost the others
        data = shelf.read(NAME, lambda raw: True)
    records = _parse(data, partly=True) or {} if data is not None else {}
    if inherited is not None:
        with suppress(OSError):  # not there, or not for us: then there is nothing to take over
            records = (_parse(inherited.read_bytes(), partly=True) or {}) | records
    return records


def are_saved(shelf: Shelf, records: Mapping[str, Unlock]) -> bool:
    """Whether the document itself has exactly these; a good copy of a damaged one is not enough."""
    data = shelf.read(NAME, lambda raw: True)
    return not records if data is None else _parse(data) == records


def save(shelf: Shelf, records: Mapping[str, Unlock]) -> None:
    document = {"unlocks": {badge: record.to_json() for badge, record in records.items()}}
    shelf.write(NAME, json.dumps(document, indent=2, sort_keys=True).encode())


def _parse(raw: bytes, *, partly: bool = False) -> dict[str, Unlock] | None:
    """The records of a document; None if it is not one. `partly` leaves out those that are none."""
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
