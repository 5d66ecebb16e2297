"""What turns cost, summed up per session and per day, and the limits a person set."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sojourn.core.errors import SpendingLimit
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId, TurnId
from sojourn.core.settings import Settings
from sojourn.ports.records import Record, RecordStore

_KIND = "usage"  # one record per day and session
_SUMMED = ("input_tokens", "output_tokens", "cost_usd")


class Spending:
    """The books. Turns that run in this process count while they run."""

    def __init__(self, store: RecordStore, settings: Settings) -> None:
        self._store = store
        self._of_session = float(settings["agent.spend_session_usd"])
        self._of_day = float(settings["agent.spend_day_usd"])
        self._running: dict[TurnId, tuple[SessionId, float]] = {}

    async def purse(self, session: SessionId, turn: TurnId) -> Purse:
        """For one turn: knows what was spent before it."""
        before = await self._spent(session=session) if self._of_session else 0.0
        today = await self._spent(prefix=f"{_today()}/") if self._of_day else 0.0
        return Purse(self, session, turn, before, today)

    async def _spent(self, *, session: SessionId | None = None, prefix: str = "") -> float:
        spent, after = 0.0, ""
        while found := await self._store.list_records(_KIND, session=session, prefix=prefix, after=after):
            spent += sum(_number(record.value.get("cost_usd")) for record in found)
            after = found[-1].key
        return spent

    def check(self, purse: Purse, cost: float) -> None:
        self._running[purse.turn] = (purse.session, cost)
        here = purse.before + cost
        today = purse.today + sum(one for _, one in self._running.values())
        for spent, limit, what in ((here, self._of_session, "session"), (today, self._of_day, "day")):
            if limit and spent >= limit:
                raise SpendingLimit(
                    f"This {what} has cost {spent:.2f} of the {limit:.2f} US dollars it may.",
                    hint=f"Raise agent.spend_{what}_usd, or choose a runtime that costs nothing.",
                )

    async def booked(self, session: SessionId, turn: TurnId, usage: Mapping[str, Json]) -> Record | None:
        """The books with what a turn used; of one that failed, what it had cost by then. None: it cost nothing. Only
        the holder of a session's lease keeps its record, so nothing is lost."""
        _, cost = self._running.pop(turn, (session, 0.0))
        used = {name: _number(usage.get(name)) for name in _SUMMED}
        used["cost_usd"] = used["cost_usd"] or cost
        if not any(used.values()):
            return None
        key = f"{_today()}/{session}"
        known = await self._store.get_record(_KIND, key)
        before = known.value if known else {}
        total = {name: _number(before.get(name)) + used[name] for name in _SUMMED}
        total["turns"] = _number(before.get("turns")) + 1
        return Record(kind=_KIND, key=key, value=total, session=session)


class Purse:
    """What one turn may spend."""

    def __init__(self, books: Spending, session: SessionId, turn: TurnId, before: float, today: float) -> None:
        self._books, self.session, self.turn = books, session, turn
        self.before, self.today = before, today

    def may_spend(self, cost: float) -> None:
        """Called with what the turn has cost so far. SpendingLimit."""
        self._books.check(self, cost)


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _number(raw: Json) -> float:
    return raw if isinstance(raw, (int, float)) and not isinstance(raw, bool) else 0
