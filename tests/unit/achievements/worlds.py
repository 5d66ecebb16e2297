"""Small worlds for the achievement tests: engines, golden histories, and a history made of dictionaries."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.achievements.engine_hyperscan import HyperscanEngine
from sojourn.achievements.engine_plain import PlainEngine
from sojourn.achievements.plan import build_plan
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_scanner import SessionScanner
from sojourn.ports.history import RawMessage, SessionFacts

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
BOOK = RuleBook()
ENGINES = ("hyperscan", "plain")


@cache
def scanner(engine: str = "hyperscan") -> SessionScanner:
    planned = build_plan(BOOK.metrics)
    made = HyperscanEngine(planned) if engine == "hyperscan" else PlainEngine(planned)
    return SessionScanner(BOOK, planned, made)


def raw(messages: Sequence[dict[str, Any]]) -> list[RawMessage]:
    """Decoded messages as the rows a store would hand out."""
    rows: list[RawMessage] = []
    for number, message in enumerate(messages, 1):
        content, calls = message.get("content"), message.get("tool_calls")
        structured = content is not None and not isinstance(content, str)
        text = json.dumps(content) if structured else content
        rows.append(
            (
                number,
                message.get("role", "user").encode(),
                None if text is None else text.encode(),
                structured,
                None if calls is None else json.dumps(calls).encode(),
                None if message.get("tool_name") is None else message["tool_name"].encode(),
            )
        )
    return rows


def fields(messages: Sequence[dict[str, Any]], engine: str = "hyperscan") -> dict[str, Any]:
    """All per-session fields of decoded messages, as the product counts them."""
    counted = scanner(engine).count_session(raw(messages))
    numbers: dict[str, Any] = dict(zip(BOOK.fields, counted.values, strict=True))
    return numbers | {"tool_names": list(counted.tool_names), "port_conflict": bool(numbers["port_conflict_events"])}


def golden(name: str, into: Path) -> tuple[Path, dict[str, Any]]:
    """A golden home, unpacked, and what is expected of it."""
    into.mkdir(parents=True, exist_ok=True)
    with gzip.open(GOLDEN / name / "state.db.gz") as packed:
        (into / "state.db").write_bytes(packed.read())
    return into, json.loads((GOLDEN / name / "expected.json").read_text("utf-8"))


@contextmanager
def time_zone(name: str) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


class ListedHistory:
    """A whole history in memory: add sessions, change them, break them. Picklable, like every history."""

    def __init__(self) -> None:
        self.facts: dict[str, SessionFacts] = {}
        self.rows: dict[str, list[RawMessage]] = {}
        self.version = 0
        self.reads: list[str] = []  # which sessions were read, in order
        self.error: Exception | None = None  # raised by everything, as if the store had gone
        self.slow = 0.0  # seconds per session read

    def put(self, session: str, *texts: str, started_at: float = 1.0, **facts: Any) -> None:
        rows = raw([{"role": "user", "content": text} for text in texts])
        self.rows[session] = rows
        known = SessionFacts(
            id=session,
            source="cli",
            title=None,
            model=None,
            started_at=started_at,
            archived=False,
            last_active=started_at + len(rows),
            rows=len(rows),
            active_rows=len(rows),
            last_row=len(rows),
            rewinds=0,
            born=list(self.rows).index(session),
        )
        self.facts[session] = replace(known, **facts)
        self.version += 1

    def drop(self, session: str) -> None:
        del self.facts[session], self.rows[session]
        self.version += 1

    def fingerprint(self) -> int:
        self._may_fail()
        return self.version

    def sessions(self) -> list[SessionFacts]:
        self._may_fail()
        return sorted(self.facts.values(), key=lambda one: -one.started_at)

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            self._may_fail()
            if self.slow:
                time.sleep(self.slow)
            self.reads.append(session)
            yield session, self.rows[session]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        self._may_fail()
        return {one: (self.rows[one][0][2] or b"").decode()[:60] for one in sessions if self.rows.get(one)}

    def close(self) -> None:
        pass

    def _may_fail(self) -> None:
        if self.error is not None:
            raise self.error
