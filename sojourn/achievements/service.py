"""Answers requests about badges from the last good snapshot and refreshes it in the background."""

from __future__ import annotations

import copy
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.receipts import find_receipts
from sojourn.achievements.session_cache import CacheRecord
from sojourn.achievements.snapshot import Snapshot, build_snapshot, list_recent_unlocks, list_session_badges
from sojourn.core.errors import BadInput, NotFound, SojournError, StoreUnavailable
from sojourn.ports.history import History

logger = logging.getLogger(__name__)
_MAX_THREADS = 32  # for concurrent requests of the drop-in; some of them wait
ServingState = Literal["FRESH", "STALE", "SCANNING", "FAILED"]
MAX_WAIT_SECONDS = 300.0  # the longest a caller may wait for a scan
_SNAPSHOT_KEYS = (
    *("achievements", "unlocked_count", "discovered_count", "secret_count", "total_count", "error"),
    "generated_at",
)
_EMPTY_META: Mapping[str, Any] = {
    **dict.fromkeys(("sessions_total", "sessions_rescanned", "sessions_reused", "sessions_scanned"), 0),
    **dict.fromkeys(("sessions_scanned_so_far", "sessions_expected_total", "messages_scanned", "malformed_rows"), 0),
    "duration_ms": None,
    "damaged_sessions": [],
}


class ScanFailed(StoreUnavailable):
    """The very first scan failed, so there is no snapshot to serve."""

    code = "scan_failed"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The snapshot chosen for an answer and its serving state."""

    snapshot: Snapshot
    state: ServingState
    is_stale: bool
    error: str | None = None


def parse_wait(value: str | None) -> float | None:
    """The seconds in a `wait` parameter, clamped to the allowed range; None without one. Raises BadInput."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        raise BadInput(f"wait={value} is not a number of seconds.", hint="For example wait=10.") from None
    return max(0.0, min(seconds, MAX_WAIT_SECONDS))


class AchievementsService:
    """The badges of one history, as the HTTP routes and the drop-in serve them."""

    def __init__(self, coordinator: ScanCoordinator, clock: Callable[[], float] = time.time) -> None:
        self._coordinator, self._clock = coordinator, clock

    # -- the routes --------------------------------------------------------

    def achievements(self, wait: float | None = None) -> dict[str, Any]:
        """All badges. Waits only if `wait` is given and there is no snapshot yet. Raises ScanFailed."""
        answer = self._choose_answer(wait)
        shown = {key: answer.snapshot[key] for key in _SNAPSHOT_KEYS if key in answer.snapshot}
        meta = answer.snapshot.get("scan_meta", {})
        return {
            **shown,
            "error": answer.error,
            "is_stale": answer.is_stale,
            "serving_state": answer.state,
            "scan_meta": {
                **_EMPTY_META,
                **meta,
                "error": answer.error or meta.get("error"),
                "status": self._coordinator.get_status(),
            },
        }

    def scan_status(self) -> dict[str, Any]:
        return self._coordinator.get_status()

    def recent_unlocks(self) -> list[dict[str, Any]]:
        return list_recent_unlocks(self._choose_answer(None).snapshot)

    def session_badges(self, session: str) -> dict[str, Any]:
        """The badges one session would earn alone; none for a session that was not counted."""
        record = self._find_record(session)
        badges = list_session_badges(self._coordinator.book, record) if record is not None else []
        return {"session_id": session, "badges": badges}

    def rescan(self, *, full: bool = False) -> dict[str, Any]:
        """Starts a scan or joins the running one; returns the status."""
        self._coordinator.run_if_needed(force=True, full=full)
        return self._coordinator.get_status()

    def rescan_and_wait(self, *, full: bool = False) -> dict[str, Any]:
        """Waits for a scan to end, at most MAX_WAIT_SECONDS, and returns the snapshot at that time."""
        self._coordinator.run_if_needed(force=True, full=full, wait=MAX_WAIT_SECONDS, partials=False)
        snapshot = self._coordinator.snapshots.get()
        aggregate = snapshot.get("aggregate", {}) if snapshot is not None else {}
        return {"ok": not self._coordinator.has_failed, **self.achievements(), "aggregate": aggregate, "sessions": []}

    def reset(self) -> dict[str, Any]:
        self._coordinator.reset()
        return {"ok": True}

    def receipts(self, badge: str, *, after: str = "", limit: int = 20) -> dict[str, Any]:
        """The messages that counted towards a badge, newest sessions first. Raises NotFound."""
        book = self._coordinator.book
        found = next((one for one in book.achievements if one.id == badge), None)
        if found is None:
            raise NotFound(f'There is no badge "{badge}".', hint="`sojourn achievements` lists them.")
        with self._copy_history() as history:
            shown, following = find_receipts(book, found, self._load_records(), history, after=after, limit=limit)
        return {"id": badge, "receipts": shown, "next": following}

    # -- choosing ----------------------------------------------------------

    def _choose_answer(self, wait: float | None) -> _Answer:
        scans = self._coordinator
        snapshot = scans.snapshots.get()
        if snapshot is None:
            snapshot = self._await_first_scan(wait)
            if snapshot is None:
                return _Answer(scans.so_far or self._build_pending_snapshot(), "SCANNING", is_stale=True)
        is_running, stale = scans.is_running, scans.is_stale()
        if stale:
            scans.note_stale_served()
            scans.run_if_needed()
        if scans.has_failed and not is_running:
            return _Answer(snapshot, "FAILED", is_stale=True, error=scans.last_error)
        state: ServingState = "SCANNING" if is_running else "STALE" if stale else "FRESH"
        return _Answer(snapshot, state, is_stale=stale)

    def _await_first_scan(self, wait: float | None) -> Snapshot | None:
        """Starts the first scan and waits for it; None while it runs. Raises ScanFailed."""
        scans = self._coordinator
        is_coming = scans.run_if_needed(wait=wait)
        snapshot = scans.snapshots.get()
        if snapshot is None and scans.has_failed and not (is_coming and scans.is_running):
            raise ScanFailed(
                f"The history could not be counted: {scans.last_error}",
                hint="Fix the cause, then POST rescan to try again.",
            )
        return snapshot

    def _build_pending_snapshot(self) -> Snapshot:
        """The snapshot served before the first scan: all badges, no numbers."""
        book, previews = self._coordinator.book, self._coordinator.history.previews
        meta, now = {"mode": "pending"}, int(self._clock())
        return build_snapshot(book, SessionAggregate(book), scan_meta=meta, previews=previews, now=now)[0]

    def _find_record(self, session: str) -> CacheRecord | None:
        found = self._coordinator.records.get(session)
        return found or next((one for one in self._load_records() if one.facts.id == session), None)

    def _load_records(self) -> list[CacheRecord]:
        """The sessions of the last scan; after a restart, those in the cache of earlier scans."""
        if self._coordinator.records:
            return list(self._coordinator.records)
        earlier = self._coordinator.load_cache()
        if not earlier:
            return []
        with self._copy_history() as history:
            listed = history.sessions()
        return [CacheRecord(facts, earlier[facts.id].contribution) for facts in listed if facts.id in earlier]

    def _copy_history(self) -> closing[History]:
        """The history with its own connection: a scan may be using the other one."""
        return closing(copy.copy(self._coordinator.history))


def serve_lines(service: AchievementsService, requests: BinaryIO, answers: BinaryIO) -> None:
    """Serves requests without HTTP, for the drop-in: one JSON request per line in, a head line and a JSON body out.

    → {"id": 1, "method": "GET", "path": "achievements", "query": {"wait": "5"}}
    ← {"id": 1, "status": 200, "bytes": 45120}        followed by so many bytes of JSON
    """
    writing = threading.Lock()

    def answer(line: bytes) -> None:
        number, status, value = _handle_line(service, line)
        body = json.dumps(value).encode()
        head = json.dumps({"id": number, "status": status, "bytes": len(body)}).encode()
        with writing:
            answers.write(head + b"\n" + body)
            answers.flush()

    with ThreadPoolExecutor(_MAX_THREADS) as pool:
        for line in requests:
            pool.submit(answer, line)


def _handle_line(service: AchievementsService, line: bytes) -> tuple[Any, int, Any]:
    number = None
    try:
        request = json.loads(line)
        number = request.get("id")
        return number, *dispatch(service, request["method"], request["path"], request.get("query") or {})
    except SojournError as error:
        return number, error.status, _to_problem(error.status, error.code, str(error), error.hint)
    except Exception as error:  # one failing request must not end the process
        logger.exception("a request of the Hermes plugin failed")
        return number, 500, _to_problem(500, "failed", str(error), "")


def dispatch(service: AchievementsService, method: str, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
    """Routes one request to the service; returns HTTP status and body."""
    match method, path.strip("/").split("/"):
        case "GET", ["achievements"]:
            return 200, service.achievements(parse_wait(query.get("wait")))
        case "GET", ["scan-status"]:
            return 200, service.scan_status()
        case "GET", ["recent-unlocks"]:
            return 200, service.recent_unlocks()
        case "GET", ["sessions", session, "badges"]:
            return 200, service.session_badges(session)
        case "GET", ["achievements", badge, "receipts"]:
            limit = query.get("limit", "20")
            if not limit.isdecimal() or len(limit) > 3:
                raise BadInput(f"limit={limit} is not a number.", hint="Ask for 1 to 200.")
            return 200, service.receipts(badge, after=query.get("after", ""), limit=int(limit))
        case "POST", ["rescan"]:
            full = query.get("mode") == "full"
            if query.get("wait") in ("true", "1", "yes"):
                return 200, service.rescan_and_wait(full=full)
            return 202, service.rescan(full=full)
        case "POST", ["reset-state"]:
            return 200, service.reset()
    raise NotFound(f"There is no {method} {path}.", hint="GET achievements is the one to begin with.")


def _to_problem(status: int, code: str, detail: str, hint: str) -> dict[str, Any]:
    return {
        "type": f"urn:sojourn:problem:{code}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
    }
