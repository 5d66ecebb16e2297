"""Cost limits: books what turns cost per session and day, and stops turns at the limits a person set."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial

from sojourn.core.errors import SpendingLimit
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId, TurnId
from sojourn.core.settings import Settings
from sojourn.ports.store import Record, Transaction

WARN_SHARE = 0.8  # of a day's or month's limit
USAGE_KIND = "usage"  # one record per day and session, under `<day>/<session>`
_DAY_TTL_SECONDS = 10.0  # how long the sum of a day holds; what other processes spend meanwhile is not in it
_PAGE_RECORDS = 1000  # records
Budget = Callable[[TurnId, float], None]
_SUMMED = ("input_tokens", "output_tokens", "cost_usd")


class CostBook:
    """Records and limits cost. Turns that run in this process count while they run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: dict[TurnId, float] = {}
        self._day, self._day_cost, self._month_cost, self._day_until = "", 0.0, 0.0, 0.0
        self._warned: set[tuple[SessionId, str]] = set()  # a session is told once of each day or month

    def open_budget(self, store: Transaction, usage: Iterable[Record]) -> Budget:
        """A function that takes a turn and what it has cost so far. It raises SpendingLimit at a limit.

        usage: the records of USAGE_KIND of the session
        """
        return partial(self._check, _sum_records(usage), self._sum_day(store))

    def _sum_day(self, store: Transaction) -> float:
        if self._day != _today() or time.monotonic() > self._day_until:
            self._day, self._day_until = _today(), time.monotonic() + _DAY_TTL_SECONDS
            self._day_cost, self._month_cost = (_sum_cost(store, one) for one in (f"{_today()}/", _today()[:8]))
        return self._day_cost

    def _check(self, before: float, today: float, turn: TurnId, cost: float) -> None:
        self._running[turn] = cost
        now = sum(self._running.values())
        for what, spent in {"session": before + cost, "day": today + now, "month": self._month_cost + now}.items():
            limit = float(self._settings[f"agent.spend_{what}_usd"])  # read each time: it may be set during the turn
            if limit and spent >= limit:
                raise SpendingLimit(
                    f"This {what} has cost ${spent:.2f}; its limit is ${limit:.2f}.",
                    hint=f"Raise agent.spend_{what}_usd, or choose a runtime that costs nothing.",
                )

    def warn(self, session: SessionId, principal: Principal) -> list[Progress]:
        """What a session of the owner is told at the end of a turn when most of a day's or month's limit is used."""
        found = list[Progress]()
        if principal != OWNER:
            return found
        for what, period, spent in (("day", _today(), self._day_cost), ("month", _today()[:7], self._month_cost)):
            limit = float(self._settings[f"agent.spend_{what}_usd"])
            if limit and spent >= WARN_SHARE * limit and (session, period) not in self._warned:
                self._warned.add((session, period))
                line = f"This {what} has cost ${spent:.2f} of the ${limit:.2f} it may ({spent / limit:.0%})."
                found.append(Progress("running", {"status": "budget", "line": line}))
        return found

    def save_usage(self, turn: TurnId, usage: Mapping[str, Json]) -> Callable[[Transaction, SessionId], None]:
        """Books what a turn cost, in the transaction that ends it. Only the holder of the session's lease does, so no
        update is lost."""
        cost = self._running.pop(turn, 0.0)
        used = {name: _to_number(usage.get(name)) for name in _SUMMED}
        used["cost_usd"] = used["cost_usd"] or cost
        self._day_cost, self._month_cost = self._day_cost + used["cost_usd"], self._month_cost + used["cost_usd"]
        return partial(_add_usage, used=used)


def _sum_records(records: Iterable[Record]) -> float:
    return sum(_to_number(record.value.get("cost_usd")) for record in records)


def _sum_cost(store: Transaction, prefix: str) -> float:
    spent, after = 0.0, ""
    while found := store.list_records(USAGE_KIND, prefix=prefix, after=after, limit=_PAGE_RECORDS):
        spent += _sum_records(found)
        after = found[-1].key
        if len(found) < _PAGE_RECORDS:
            break
    return spent


def _add_usage(store: Transaction, session: SessionId, used: Mapping[str, float]) -> None:
    if not any(used.values()):
        return
    key = f"{_today()}/{session}"
    known = store.get_record(USAGE_KIND, key)
    before = known.value if known else {}
    total = {name: _to_number(before.get(name)) + used[name] for name in _SUMMED}
    total["turns"] = _to_number(before.get("turns")) + 1
    store.put_record(Record(kind=USAGE_KIND, key=key, value=total, session=session))


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def _to_number(raw: Json) -> float:
    return raw if isinstance(raw, (int, float)) and not isinstance(raw, bool) else 0
