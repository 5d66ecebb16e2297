"""Usage totals for the insights page, by day, model, source and project. Unknown values are null, never 0."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sojourn.core.messages import Json, Message, ToolCall, tool_calls_of
from sojourn.core.sessions import OWNER, Session
from sojourn.ports.app import AgentContext
from sojourn.ports.history import HasToolExchanges, SessionFacts
from sojourn.ports.store import Listing
from sojourn.ports.tool import CallJudge
from sojourn.turn_support.cost_limits import USAGE_KIND

_PAGE_ROWS = 1000
_TOP_COUNT = 10


@dataclass(slots=True)
class UsageTotal:
    """Totals of sessions, messages, calls, tokens and cost. The cost is None while no price is known."""

    sessions: int = 0
    messages: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    priced_sessions: int = 0  # whose cost is known

    @classmethod
    def of_usage(cls, usage: Mapping[str, Json]) -> UsageTotal:
        """The usage the service recorded for a day and a session. 0 dollars there means that no price was known."""
        return cls(
            input_tokens=int(_number(usage.get("input_tokens"))),
            output_tokens=int(_number(usage.get("output_tokens"))),
            cost_usd=_number(usage.get("cost_usd")) or None,
        )

    def add_session(self, session: Session, spent: UsageTotal) -> None:
        self.sessions += 1
        self.messages += session.message_count - session.copied  # those count where they were said
        self.tool_calls += session.tool_call_count
        self.priced_sessions += spent.cost_usd is not None
        self.add_usage(spent)

    def add_usage(self, other: UsageTotal) -> None:
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + other.cost_usd


def _number(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


class Insights:
    """Totals over all sessions, cached until the store changes."""

    def __init__(self, app: AgentContext) -> None:
        self._app = app
        self._cache: dict[tuple[int, int | None], tuple[int, dict[str, Any]]] = {}

    async def totals(self, days: int, year: int | None = None) -> dict[str, Any]:
        """Of the last days; or of sessions that began in a year."""
        version, key = await self._app.store.last_change(), (days, year)
        cached = self._cache.get(key)
        if cached is None or cached[0] != version:
            self._cache = {key: (version, await self._count(days, year))}
        return self._cache[key][1]

    async def _count(self, days: int, year: int | None) -> dict[str, Any]:
        now = datetime.now(UTC)
        first = (now - timedelta(days=days - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
        if year is not None:
            first = datetime(year, 1, 1, tzinfo=UTC)
        within = str(year or "")  # every day begins with the empty text
        used = await self._recorded_usage(first.date().isoformat(), within)
        totals, by_day = UsageTotal(), defaultdict[str, UsageTotal](UsageTotal)
        by: dict[str, defaultdict[str, UsageTotal]] = {
            name: defaultdict(UsageTotal) for name in ("model", "source", "project")
        }
        costly: list[tuple[float, Session]] = []
        slow: list[tuple[float, Session]] = []
        async for session in self._sessions(first.timestamp()):
            booked = used.pop(session.id, {})
            day = _day(session.started_at)
            if not day.startswith(within):
                continue
            spent = _total_usage(session, booked)
            for tally in (
                totals,
                by["model"][session.model or ""],
                by["source"][session.source],
                by["project"][session.cwd or ""],
            ):
                tally.add_session(session, spent)
            by_day[day].add_session(session, _total_usage(session, {}))
            for other, usage in booked.items():
                by_day[other].add_usage(usage)
            if spent.cost_usd:
                costly.append((spent.cost_usd, session))
            slow.append((max(0.0, session.last_active - session.started_at), session))
        return {
            "since": first.date().isoformat(),
            "totals": asdict(totals),
            "days": [{"day": day, **asdict(by_day[day])} for day in sorted(by_day)],
            **{f"by_{name}": _rank(found) for name, found in by.items()},
            "most_expensive": [_summarise(one, cost_usd=cost) for cost, one in _top(costly)],
            "longest": [_summarise(one, seconds=seconds) for seconds, one in _top(slow)],
        }

    async def _sessions(self, since: float) -> Any:
        before: tuple[float, str] | None = None
        while True:
            listing = Listing(principal=OWNER, since=since, archived=None, limit=_PAGE_ROWS, before=before)
            found = await self._app.store.find(listing)
            for one in found:
                yield one
            if len(found) < _PAGE_ROWS:
                return
            before = (found[-1].last_active, found[-1].id)

    async def _recorded_usage(self, first: str, within: str) -> dict[str, dict[str, UsageTotal]]:
        """Usage of our own turns, by session and day, as the service records it; on days that begin with a text."""
        used: dict[str, dict[str, UsageTotal]] = defaultdict(dict)
        after = first
        while found := await self._app.store.list_records(USAGE_KIND, after=after):
            for record in found:
                day, _, session = record.key.partition("/")
                if day.startswith(within):
                    used[session][day] = UsageTotal.of_usage(record.value)
            after = found[-1].key
        return used

    async def tool_results(self, most: int) -> dict[str, Any]:
        """Counts successful and failed calls per tool in the newest sessions."""
        return await asyncio.to_thread(_count_tool_results, self._app, most)


def _total_usage(session: Session, booked: dict[str, UsageTotal]) -> UsageTotal:
    spent = UsageTotal(
        input_tokens=session.input_tokens, output_tokens=session.output_tokens, cost_usd=session.estimated_cost_usd
    )
    for one in booked.values():
        spent.add_usage(one)
    return spent


def _day(stamp: float) -> str:
    try:
        return datetime.fromtimestamp(stamp, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def _rank(found: dict[str, UsageTotal]) -> list[dict[str, Any]]:
    ranked = sorted(found.items(), key=lambda one: (-(one[1].cost_usd or 0.0), -one[1].sessions))
    return [{"name": name, **asdict(tally)} for name, tally in ranked[:50]]


def _top(ranked: Iterable[tuple[float, Session]]) -> list[tuple[float, Session]]:
    return sorted(ranked, key=lambda one: -one[0])[:_TOP_COUNT]


def _summarise(session: Session, **more: float) -> dict[str, Any]:
    return {
        "id": session.id,
        "title": session.title or session.preview,
        "source": session.source,
        "model": session.model,
        **more,
    }


def _count_tool_results(app: AgentContext, most: int) -> dict[str, Any]:
    history = app.store.history()
    if not isinstance(history, HasToolExchanges):
        return {"sessions": 0, "seconds": 0.0, "tools": [], "outcomes": []}
    judge = app.call_judge()
    begun = time.monotonic()
    outcomes: list[dict[str, Any]] = []
    try:
        newest = {one.id: one for one in history.sessions()[:most]}
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for session, rows in history.exchanges(list(newest)):
            judged = list(_judge_calls(rows, judge))
            for tool, worked in judged:
                counts[tool][0 if worked else 1] += 1
            if judged:
                outcomes.append(_describe_outcome(newest[session], [worked for _, worked in judged]))
    finally:
        history.close()
    ranked = sorted(counts.items(), key=lambda one: -sum(one[1]))
    return {
        "sessions": len(newest),
        "seconds": round(time.monotonic() - begun, 3),
        "tools": [{"tool": name, "worked": good, "failed": bad} for name, (good, bad) in ranked],
        "outcomes": outcomes,
    }


def _describe_outcome(facts: SessionFacts, results: Sequence[bool]) -> dict[str, Any]:
    """How the calls of a session went: `worked` if at most half of them failed and the last one did not."""
    failed = results.count(False)
    worked = 2 * failed <= len(results) and results[-1]
    return {
        "id": facts.id,
        "title": facts.title or "",
        "worked": len(results) - failed,
        "failed": failed,
        "outcome": "worked" if worked else "failed",
    }


def _judge_calls(rows: list[Any], judge: CallJudge) -> Iterable[tuple[str, bool]]:
    pending: dict[str, ToolCall] = {}
    for _, role, content, _, calls, _, call_id, effect, extra in rows:
        for call in tool_calls_of(Message(role="assistant", tool_calls=_to_text(calls))):
            pending[call.id] = call
        if role == b"tool" and call_id is not None and (asked := pending.pop(_to_text(call_id) or "", None)):
            verdict = judge(
                asked.name,
                _parse_object(asked.arguments) or {},
                _to_text(content),
                extra=_parse_object(_to_text(extra)),
                effect=_to_text(effect),
            )
            yield asked.name, verdict.success


def _to_text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _parse_object(text: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
