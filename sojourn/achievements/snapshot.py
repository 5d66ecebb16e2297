"""Snapshots: the served result of a scan, how it is built, and where it is stored."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import DocumentStore
from sojourn.achievements.evaluate import badge_to_json, evaluate_badge, keep_unlocked
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CacheRecord
from sojourn.achievements.threshold_dates import ThresholdDates
from sojourn.achievements.unlocks import Unlock
from sojourn.ports.history import SessionFacts

logger = logging.getLogger(__name__)
NAME = "scan_snapshot.json"
_POLL_SECONDS = 0.5  # between checks for a snapshot of another process
Previews = Callable[[Sequence[str]], Mapping[str, str]]
Snapshot = dict[str, Any]


def build_snapshot(
    book: RuleBook,
    sessions: SessionAggregate,
    *,
    scan_meta: Mapping[str, Any],
    previews: Previews,
    now: int,
    known: Mapping[str, Unlock] | None = None,
    dates: ThresholdDates | None = None,
) -> tuple[Snapshot, dict[str, Unlock]]:
    """Evaluates all badges; returns the snapshot and the unlock records after it.

    `known` are the unlock records so far; without them the snapshot is partial: it has no unlock dates.
    `dates` are given for our own store and a complete scan: badges then say when they were reached, and one that was
    unlocked stays so when its sessions are gone.
    """
    totals = sessions.totals()
    unlocks = dict(known or {})
    labels = book.labels
    progress = {badge.id: evaluate_badge(badge, totals) for badge in book.achievements}
    if dates is not None:
        progress = {
            id: keep_unlocked(at, unlocks[id].first_tier) if id in unlocks else at for id, at in progress.items()
        }
    reached = dates.find_all([one for one in book.achievements if progress[one.id].unlocked], sessions) if dates else {}
    items = []
    for badge in book.achievements:
        at = progress[badge.id]
        shown = badge_to_json(badge, at, labels)
        if at.unlocked:
            evidence = _find_evidence(sessions, badge.metric, previews) if badge.metric else None
            if known is not None:
                unlocks.setdefault(badge.id, Unlock(now, at.tier, evidence))
            record = unlocks.get(badge.id)
            shown["unlocked_at"] = record.unlocked_at if record else None
            shown["evidence"] = (record.evidence if record else None) or evidence
            if dates is not None:
                facts = reached.get(badge.id)
                shown["reached_at"] = int(facts.started_at) if facts else None
                shown["reached_session_id"] = facts.id if facts else None
        items.append(shown)
    states = [one["state"] for one in items]
    snapshot = {
        "achievements": items,
        "aggregate": totals,
        "sessions": [],
        "scan_meta": dict(scan_meta),
        "error": None,
        "unlocked_count": states.count("unlocked"),
        "discovered_count": states.count("discovered"),
        "secret_count": states.count("secret"),
        "total_count": len(items),
        "generated_at": now,
    }
    return snapshot, unlocks


def build_session_rows(book: RuleBook, sessions: Iterable[CacheRecord], previews: Previews) -> list[dict[str, Any]]:
    """All fields of all sessions, for `--json`."""
    records = list(sessions)
    titles = find_titles([record.facts for record in records], previews)
    return [build_session_row(book, record, titles[record.facts.id]) for record in records]


def list_session_badges(book: RuleBook, session: CacheRecord) -> list[dict[str, Any]]:
    """The badges this one session would earn alone."""
    found = SessionAggregate(book, [session]).totals()
    labels = book.labels
    earned = ((badge, evaluate_badge(badge, found)) for badge in book.achievements)
    return [badge_to_json(badge, at, labels) for badge, at in earned if at.unlocked]


def list_recent_unlocks(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The 20 newest unlocked badges, newest first; among equals in catalogue order."""
    unlocked = [one for one in snapshot["achievements"] if one["unlocked"]]
    return sorted(unlocked, key=lambda one: -(one.get("unlocked_at") or 0))[:20]


def _find_evidence(sessions: SessionAggregate, metric: str, previews: Previews) -> dict[str, Any] | None:
    best = sessions.best(metric)
    if best is None:
        return None
    record, value = best
    facts = record.facts
    return {"session_id": facts.id, "title": find_titles([facts], previews)[facts.id], "value": value}


class SnapshotStore:
    """The last good snapshot: in memory, and as a document for the next start and for other processes.

    The rows of single sessions are not part of the document: they are in the session cache, and would make a request
    for sixty badges read megabytes.
    """

    def __init__(self, documents: DocumentStore, clock: Callable[[], float] = time.time) -> None:
        self._documents, self._clock = documents, clock
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._version: object = None
        self._look_at = 0.0  # when to check again for a newer one of another process

    def get(self) -> Snapshot | None:
        """The newest good snapshot, also one that another process wrote."""
        if self._snapshot is not None and time.monotonic() < self._look_at:
            return self._snapshot
        with self._lock:
            self._look_at = time.monotonic() + _POLL_SECONDS
            version = self._documents.version(NAME)
            if version is not None and version != self._version:
                self._version = version
                found = self._load()
                if found is not None and (
                    self._snapshot is None or found["generated_at"] >= self._snapshot["generated_at"]
                ):
                    self._snapshot = found
            return self._snapshot

    def set_in_memory(self, snapshot: Snapshot) -> None:
        """Replaces the snapshot in memory only: the same numbers at a later time."""
        with self._lock:
            self._snapshot = snapshot

    def set(self, snapshot: Snapshot) -> None:
        """Stores a snapshot; in memory even if writing it raises OSError."""
        self.set_in_memory(snapshot)
        data = json.dumps(snapshot | {"sessions": []}, sort_keys=True).encode()
        self._documents.write(NAME, data)

    def clear(self) -> None:
        with self._lock:
            self._snapshot = self._version = None
            self._documents.remove(NAME)

    def is_stale(self, ttl_seconds: float) -> bool:
        """Whether there is no snapshot, or it is older than `ttl_seconds`, or dated in the future."""
        snapshot = self.get()
        if snapshot is None:
            return True
        age = self._clock() - snapshot["generated_at"]
        return not -1 <= age <= ttl_seconds

    def _load(self) -> Snapshot | None:
        try:
            data = self._documents.read(NAME, lambda raw: _parse(raw) is not None)
        except OSError as error:  # the one in memory stays in use, or a new scan makes one
            logger.warning("the saved snapshot cannot be read: %s", error)
            return None
        return _parse(data) if data is not None else None


def _parse(raw: bytes) -> Snapshot | None:
    try:
        snapshot = json.loads(raw)
    except ValueError:
        return None
    is_snapshot = (
        isinstance(snapshot, dict)
        and isinstance(snapshot.get("achievements"), list)
        and isinstance(snapshot.get("generated_at"), int | float)
    )
    return snapshot if is_snapshot else None


def build_session_row(book: RuleBook, record: CacheRecord, title: str) -> dict[str, Any]:
    """All fields of one session in JSON form."""
    facts, numbers = record.facts, dict(zip(book.fields, record.contribution.values, strict=True))
    return {
        "session_id": facts.id,
        "title": title,
        "started_at": facts.started_at,
        "last_active": facts.last_active,
        "source": facts.source,
        "model_names": [facts.model] if facts.model else [],
        "tool_names": list(record.contribution.tool_names),
        **numbers,
        "port_conflict": bool(numbers.get("port_conflict_events")),
    }


def find_titles(facts: Sequence[SessionFacts], previews: Previews) -> dict[str, str]:
    """The title of each session, else its first words, else "Untitled"."""
    untitled = [one.id for one in facts if not one.title]
    first_words = previews(untitled) if untitled else {}  # a missing history has no previews
    return {one.id: one.title or first_words.get(one.id) or "Untitled" for one in facts}
