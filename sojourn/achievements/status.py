"""The scan status: the current run and statistics of earlier ones. Survives a restart."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from sojourn.achievements.document_store import DocumentStore

NAME = "scan_status.json"
_MAX_DURATIONS = 100  # stored for average and p95
_NOT_SAVED = ("sessions_scanned_so_far", "sessions_expected_total")
_NOT_REPORTED = ("durations_ms", "failures_in_a_row", "resets")
_COUNTERS = ("run_count", "failure_count", "dedupe_hits", "stale_served", "failures_in_a_row", "resets")
# The types of saved values; a value of another type is ignored.
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("state", "last_error"), str),
    **dict.fromkeys(("started_at", "finished_at", "last_duration_ms", *_COUNTERS), int),
    "durations_ms": list,
    "next_try_at": (int, float),
}


@dataclass(slots=True)
class ScanStatus:
    """The state of scanning; its fields are JSON keys. Only the coordinator changes it, under its lock."""

    state: Literal["idle", "running", "failed"] = "idle"
    started_at: int | None = None
    finished_at: int | None = None
    last_error: str | None = None
    last_duration_ms: int | None = None
    run_count: int = 0
    failure_count: int = 0
    dedupe_hits: int = 0
    stale_served: int = 0
    durations_ms: list[int] = field(default_factory=list)
    failures_in_a_row: int = 0
    next_try_at: float = 0.0
    resets: int = 0
    sessions_scanned_so_far: int = 0
    sessions_expected_total: int = 0

    @classmethod
    def load(cls, documents: DocumentStore) -> ScanStatus:
        """Reads the saved status; a run that never ended is no longer running."""
        try:
            data = documents.read(NAME, lambda raw: True)
            written: Any = json.loads(data) if data is not None else {}
            known = {name: written[name] for name, kind in _TYPES.items() if isinstance(written.get(name), kind)}
        except (OSError, ValueError, AttributeError):
            known = {}
        status = cls(**known)
        if status.state != "failed":
            status.state = "failed" if status.last_error else "idle"
        return status

    def save(self, documents: DocumentStore) -> None:
        documents.write(NAME, json.dumps(self._to_dict(_NOT_SAVED), sort_keys=True).encode(), durable=False)

    def begin(self, now: float) -> None:
        self.state, self.started_at = "running", int(now)
        self.sessions_scanned_so_far = self.sessions_expected_total = 0

    def succeed(self, now: float, seconds: float) -> None:
        self._end(now, seconds)
        self.state, self.last_error = "idle", None
        self.failures_in_a_row, self.next_try_at = 0, 0.0

    def fail(self, now: float, seconds: float, reason: str, first_wait_seconds: float, max_wait_seconds: float) -> None:
        """Records a failure; each one in a row doubles the time until the retry."""
        self._end(now, seconds)
        self.state, self.last_error = "failed", reason
        self.failure_count += 1
        self.failures_in_a_row += 1
        self.next_try_at = now + min(max_wait_seconds, first_wait_seconds * 2 ** min(self.failures_in_a_row - 1, 20))

    def clear(self) -> None:
        """Clears everything but the counters; a running scan sees from `resets` that its result is obsolete."""
        self.resets += 1
        self.state, self.last_error = "idle", None
        self.started_at = self.finished_at = self.last_duration_ms = None
        self.failures_in_a_row, self.next_try_at = 0, 0.0

    def _end(self, now: float, seconds: float) -> None:
        self.finished_at, self.last_duration_ms = int(now), round(seconds * 1000)
        self.run_count += 1
        self.durations_ms = [*self.durations_ms, self.last_duration_ms][-_MAX_DURATIONS:]

    def report(self) -> Mapping[str, Any]:
        """The public fields, as served by `scan-status`."""
        ordered = sorted(self.durations_ms)
        return self._to_dict(_NOT_REPORTED) | {
            "duration_avg_ms": round(sum(ordered) / len(ordered)) if ordered else None,
            "duration_p95_ms": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] if ordered else None,
            "next_try_at": int(self.next_try_at) if self.state == "failed" else None,
        }

    def _to_dict(self, left_out: Collection[str]) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
