"""Receipts: the messages that counted towards a badge, with the matched words highlighted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from sojourn.achievements.aggregate import SessionAggregate, is_local_model, is_weekend_and_night
from sojourn.achievements.counters import Span
from sojourn.achievements.engine_plain import PlainEngine
from sojourn.achievements.plan import build_plan
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CacheRecord
from sojourn.achievements.session_scanner import SessionScanner
from sojourn.achievements.snapshot import find_titles
from sojourn.badge_rules import Achievement
from sojourn.core.errors import BadInput
from sojourn.ports.history import History, RawMessage, SessionFacts

_CONTEXT_BYTES = 90  # shown before and after the first hit
_MAX_HIGHLIGHTS = 20  # per message


@runtime_checkable
class HasSeqs(Protocol):
    """A history whose rows have a number in their session's log, which a link can name."""

    def find_seqs(self, rows: Sequence[int]) -> dict[int, int]: ...


def find_receipts(
    book: RuleBook,
    badge: Achievement,
    records: Sequence[CacheRecord],
    history: History,
    *,
    after: str = "",
    limit: int = 20,
) -> tuple[list[dict[str, Any]], str]:
    """The next `limit` receipts of a badge, newest sessions first, and the `after` of the next page; "" at the end."""
    shown, following = _collect_receipts(book, badge, records, history, after, limit)
    if isinstance(history, HasSeqs):
        seqs = history.find_seqs([one["row"] for one in shown])
        shown = [{**one, "seq": seqs.get(one["row"])} for one in shown]
    return shown, following


def _collect_receipts(
    book: RuleBook, badge: Achievement, records: Sequence[CacheRecord], history: History, after: str, limit: int
) -> tuple[list[dict[str, Any]], str]:
    if not 1 <= limit <= 200:
        raise BadInput(f"{limit} receipts cannot be shown at once.", hint="Ask for 1 to 200.")
    last_session, _, last_row = after.rpartition(":")
    if after and not (last_session and last_row.isdecimal() and len(last_row) < 20):
        raise BadInput(f"{after!r} is not a place in the receipts.", hint="Use the `next` of an earlier page.")
    shown: list[dict[str, Any]] = []
    skipping = bool(after)
    for record, wanted in _find_sources(book, badge, records):
        if skipping and record.facts.id != last_session:
            continue
        first_row = int(last_row) + 1 if skipping else 0
        skipping = False
        title = find_titles([record.facts], history.previews)[record.facts.id]
        for receipt in _read_session(book, record, wanted, history, first_row):
            if len(shown) == limit:
                return shown, f"{shown[-1]['session_id']}:{shown[-1]['row']}"
            shown.append({"session_id": record.facts.id, "title": title, **receipt})
    return shown, ""


# -- which sessions ------------------------------------------------------------


def _find_sources(
    book: RuleBook, badge: Achievement, records: Sequence[CacheRecord]
) -> Iterator[tuple[CacheRecord, tuple[str, ...]]]:
    """Sessions that count towards a badge, with the fields that do; none if the session as such counts."""
    totals = {total.key: total for total in book.totals}
    summed = tuple(totals[key].of for key in badge.metrics if key in totals and totals[key].how == "sum")
    aggregate = SessionAggregate(book, records)
    best: dict[str, list[str]] = {}
    for key in badge.metrics:
        holder = aggregate.best(key)
        if holder is not None and holder[1]:
            best.setdefault(holder[0].facts.id, []).append(totals[key].of)
    listed = [key for key in badge.metrics if key not in totals]
    for record in records:
        numbers = dict(zip(book.fields, record.contribution.values, strict=True))
        wanted = tuple(key for key in (*summed, *best.get(record.facts.id, ())) if numbers[key])
        if wanted or any(_counts_as(key, record.facts) for key in listed):
            yield record, wanted


def _counts_as(total: str, facts: SessionFacts) -> bool:
    """Whether a session counts for a total that only looks at the list of sessions."""
    weekend, night = is_weekend_and_night(facts.started_at)
    return {
        "weekend_sessions": weekend,
        "night_sessions": night,
        "local_model_chat_sessions": bool(facts.model) and is_local_model(facts.model or ""),
        "distinct_model_count": bool(facts.model),
        "distinct_provider_count": bool(facts.model),
    }.get(total, True)


# -- which messages ------------------------------------------------------------


def _read_session(
    book: RuleBook, record: CacheRecord, wanted: tuple[str, ...], history: History, first_row: int
) -> Iterator[dict[str, Any]]:
    facts = record.facts
    if not wanted:
        if first_row == 0:
            about = f"started with {facts.model}" if facts.model else "started"
            yield {"row": 0, "role": None, "kind": "session", "excerpt": about, "highlights": [], "tools": []}
        return
    for _, rows in history.messages([facts.id]):
        marks = _Highlighter(book, wanted, rows)
        for at, row in enumerate(rows):
            if row[0] >= first_row and (shown := marks.receipt(at)) is not None:
                role = row[1].decode("utf-8", "replace") if row[1] else None
                yield {"row": row[0], "role": role, **shown}


class _Highlighter:
    """Finds the matches of some fields in the rows of one session."""

    def __init__(self, book: RuleBook, wanted: tuple[str, ...], rows: Sequence[RawMessage]) -> None:
        rules = tuple(replace(rule, gates=()) for rule in book.metrics if rule.key in wanted)
        planned = build_plan(rules)
        self._rows, self._wanted, self._plan = rows, wanted, planned
        self._scanner = SessionScanner(book, planned, PlainEngine(planned))
        reading = self._scanner.read(rows)
        hits = self._scanner.search(reading, set())
        starts = [0, *(stop + 1 for stop in hits.stops)]
        self._texts = [hits.data[start:stop] for start, stop in zip(starts, hits.stops, strict=False)]
        self._spans: dict[int, list[Span]] = {}
        for one in planned.rules:
            for counter in one.counters:
                for start, end in counter.spans(hits):
                    at = bisect_left(hits.stops, start + 1)
                    span = start - starts[at], min(end, hits.stops[at]) - starts[at]
                    self._spans.setdefault(at, []).append(span)

    def receipt(self, at: int) -> dict[str, Any] | None:
        """The receipt of one row; None if nothing in it counts."""
        spans = sorted(self._spans.get(at, []))
        tools = self._find_tools(at)
        paths = self._find_paths(at) if "files_touched_count" in self._wanted else []
        if not spans and not tools and not paths and "message_count" not in self._wanted:
            return None
        excerpt, highlights = _excerpt(self._texts[at], spans)
        return {
            "kind": "text" if spans or not tools else "tool",
            "excerpt": excerpt,
            "highlights": highlights,
            "tools": tools,
            **({"paths": paths} if paths else {}),
        }

    def _find_tools(self, at: int) -> list[str]:
        called = self._scanner.read([self._rows[at]]).sequence
        if "tool_call_count" in self._wanted or "distinct_tool_count" in self._wanted:
            return sorted(called)
        needles = [needle for one in self._plan.rules for tool in one.tools for needle in tool.needles]
        return sorted(name for name in called if any(needle in name.lower() for needle in needles))

    def _find_paths(self, at: int) -> list[str]:
        found: set[bytes] = set()
        self._scanner.search(self._scanner.read([self._rows[at]]), found)
        return sorted(path.decode("utf-8", "replace") for path in found)


def _excerpt(text: bytes, spans: Sequence[Span]) -> tuple[str, list[list[int]]]:
    """The text around the first hit, and the character ranges to highlight."""
    first, stop = spans[0] if spans else (0, 0)
    begin = max(0, first - _CONTEXT_BYTES)
    while begin > 0 and 0x80 <= text[begin] < 0xC0:  # do not begin inside a character
        begin -= 1
    begin = (begin and text.find(b" ", begin, first) + 1) or begin  # nor inside a word, where there are spaces
    end = min(len(text), min(stop, first + 2 * _CONTEXT_BYTES) + _CONTEXT_BYTES)
    if end < len(text):
        end = max(stop if stop < end else 0, text.rfind(b" ", first, end)) or end
    shown = text[begin:end].decode("utf-8", "ignore")
    marks = [
        [len(text[begin:start].decode("utf-8", "ignore")), len(text[begin : min(stop, end)].decode("utf-8", "ignore"))]
        for start, stop in spans[:_MAX_HIGHLIGHTS]
        if begin <= start < end
    ]
    return shown, marks
