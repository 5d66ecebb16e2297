"""Recurrence: when a schedule fires, from words ("every weekday 8:00") or a cron expression, in a time zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from sojourn.core.errors import BadInput

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY_SETS = {"day": "*", "daily": "*", "weekday": "1-5", "weekdays": "1-5", "weekend": "6,0", "weekends": "6,0"}
_TIME = re.compile(r"^(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?$")
_EVERY_UNIT = re.compile(r"^(?:(\d{1,2})\s+)?(minute|hour)s?$")
_NEWEST_SECONDS = 2 * 86_400.0
_HINT = 'Say "every weekday 8:00", "every monday and friday 18:30", "every 15 minutes", or give a cron expression.'


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A cron expression in a time zone. A time that a clock change skips fires right after it; one that comes twice
    fires once."""

    cron: str
    timezone: str = "UTC"

    def times(self, after: float) -> Iterator[float]:
        """The times after `after`, in order."""
        start = datetime.fromtimestamp(after, ZoneInfo(self.timezone))
        last = after
        for found in CronSim(self.cron, start):
            at = found.astimezone(UTC).timestamp()
            if at > last:  # the hour that a clock change repeats
                last = at
                yield at

    def next_time(self, after: float) -> float | None:
        return next(self.times(after), None)

    def times_until(self, after: float, until: float, most: int = 3_000) -> list[float]:
        """The times in (after, until], the newest last. After `most`, only those of the last two days are looked at."""
        found: list[float] = []
        for at in self.times(after):
            if at > until:
                return found
            found.append(at)
            if len(found) == most:
                break
        newest = max(found[-1], until - _NEWEST_SECONDS)
        return found + list(takewhile(lambda at: at <= until, self.times(newest)))


def parse_recurrence(text: str, timezone: str = "") -> Recurrence:
    """Parses words or a cron expression of five fields. BadInput."""
    zone = timezone or find_local_timezone()
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadInput(f'There is no time zone "{zone}".', hint="Say one like Europe/Berlin or UTC.") from error
    words = " ".join(text.lower().split())
    cron = words if _is_cron(words) else _to_cron(words)
    try:
        CronSim(cron, datetime.now(UTC))
    except CronSimError as error:
        raise BadInput(f'"{text}" is not a time to repeat: {error}.', hint=_HINT) from error
    return Recurrence(cron=cron, timezone=zone)


def _is_cron(words: str) -> bool:
    return (
        len(words.split()) == 5 and re.fullmatch(r"[\d*/,\-a-z#l ]+", words) is not None and words[0] in "0123456789*"
    )


def _to_cron(words: str) -> str:
    rest = words.removeprefix("every ").removeprefix("each ")
    if unit := _EVERY_UNIT.match(rest):
        return _every_unit(int(unit[1] or 1), unit[2], words)
    if rest in ("hourly",):
        return "0 * * * *"
    days, _, clock = rest.rpartition(" at ") if " at " in rest else rest.rpartition(" ")
    if not days or clock in ("am", "pm"):  # "8 am" has a blank inside
        head, _, number = days.rpartition(" ")
        days, clock = head, f"{number} {clock}"
    hour, minute = _parse_clock(clock.strip(), words)
    return f"{minute} {hour} * * {_parse_days(days.removeprefix('on ').removesuffix(' at').strip(), words)}"


def _every_unit(number: int, unit: str, words: str) -> str:
    most = 60 if unit == "minute" else 24
    if not 1 <= number < most or most % number:
        raise BadInput(f'"{words}" does not divide the {"hour" if unit == "minute" else "day"} evenly.', hint=_HINT)
    step = "*" if number == 1 else f"*/{number}"
    return f"{step} * * * *" if unit == "minute" else f"0 {step} * * *"


def _parse_clock(text: str, words: str) -> tuple[int, int]:
    found = _TIME.match(text)
    if found is None:
        raise BadInput(f'"{words}" names no time of day.', hint=_HINT)
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        if not 1 <= hour <= 12:
            raise BadInput(f'"{text}" is not a time of day.', hint=_HINT)
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    if hour > 23 or minute > 59:
        raise BadInput(f'"{text}" is not a time of day.', hint=_HINT)
    return hour, minute


def _parse_days(text: str, words: str) -> str:
    if text in _DAY_SETS:
        return _DAY_SETS[text]
    numbers = []
    for name in re.split(r"\s*(?:,|and)\s*", text):
        plain = name.removesuffix("s") if name not in _DAYS else name
        matches = [number for number, day in enumerate(_DAYS) if plain and day.startswith(plain) and len(plain) >= 3]
        if len(matches) != 1:
            raise BadInput(f'"{words}" names no days.', hint=_HINT)
        numbers.append(str(matches[0]))
    return ",".join(numbers)


def find_local_timezone() -> str:
    """The name of this machine's time zone; UTC if it has none."""
    try:
        target = str(Path("/etc/localtime").resolve())
    except OSError:
        return "UTC"
    name = target.partition("zoneinfo/")[2].removeprefix("posix/").removeprefix("right/")
    try:
        ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"
    return name or "UTC"
