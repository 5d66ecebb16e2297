"""Time words: the period that a request names, such as "yesterday", "last week", "in March 2025" or "on 25 May"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_YEAR = r"(?:,?\s+(?P<year>(?:19|20)\d\d))?"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_MONTH = re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{_MONTH}\b{_YEAR}", re.IGNORECASE)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}", re.IGNORECASE)
_IN_MONTH = re.compile(rf"\b(?:in|during|since|of|early|late|mid)\s+{_MONTH}\b{_YEAR}", re.IGNORECASE)
_AGO = re.compile(r"\b(\d{1,3}|a|an|one|two|three|few|couple of)\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_UNIT = re.compile(r"\b(last|this|past|previous)\s+(week|month|year|night|weekend)\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(?:last|on|this)\s+({'|'.join(_DAYS)})\b", re.IGNORECASE)
_DAY = re.compile(r"\b(yesterday|today|this morning|earlier today|昨天|今天)\b|昨天|今天", re.IGNORECASE)
_LENGTH_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365, "night": 1, "weekend": 7}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "few": 3, "couple of": 2}


@dataclass(frozen=True, slots=True)
class Period:
    """A period of time; `is_relative` if it is named as seen from today."""

    since: float
    until: float
    is_relative: bool


def parse_period(text: str, now: datetime) -> Period | None:
    """Returns the period that a text names first, or None."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return _parse_date(text, now) or _parse_relative(text, midnight)


def _parse_date(text: str, now: datetime) -> Period | None:
    if hit := _ISO.search(text):
        return _to_period(now, int(hit[1]), int(hit[2]), int(hit[3]))
    if hit := _DAY_MONTH.search(text) or _MONTH_DAY.search(text):
        month = _MONTHS.index(hit["month"][:3].lower()) + 1
        return _to_period(now, _guess_year(hit, month, now), month, int(hit["day"]))
    if hit := _IN_MONTH.search(text):
        month = _MONTHS.index(hit["month"][:3].lower()) + 1
        return _to_period(now, _guess_year(hit, month, now), month)
    return None


def _guess_year(hit: re.Match[str], month: int, now: datetime) -> int:
    """The year that is named, else the last one in which the month was not in the future."""
    return int(hit["year"]) if hit["year"] else now.year - (month > now.month)


def _to_period(now: datetime, year: int, month: int, day: int | None = None) -> Period | None:
    try:
        first = now.replace(year=year, month=month, day=day or 1, hour=0, minute=0, second=0, microsecond=0)
    except ValueError:  # the 31st of June
        return None
    last = first + timedelta(days=1) if day else (first + timedelta(days=32)).replace(day=1)
    return Period(first.timestamp(), last.timestamp(), is_relative=False)


def _parse_relative(text: str, midnight: datetime) -> Period | None:
    if hit := _DAY.search(text):
        back = 1 if hit[0].lower() in ("yesterday", "昨天") else 0
        return _between(midnight, back, back - 1)
    if hit := _AGO.search(text):
        count = _COUNTS.get(hit[1].lower()) or int(hit[1])
        length = _LENGTH_DAYS[hit[2].lower()]
        return _between(midnight, count * length + length // 2, count * length - length // 2 - 1)
    if hit := _WEEKDAY.search(text):
        back = (midnight.weekday() - _DAYS.index(hit[1].lower())) % 7 or 7
        return _between(midnight, back, back - 1)
    if hit := _UNIT.search(text):
        length = _LENGTH_DAYS[hit[2].lower()]
        is_this = hit[1].lower() == "this"
        return _between(midnight, length if is_this else 2 * length, -1 if is_this else 0)
    return None


def _between(midnight: datetime, first: int, last: int) -> Period:
    """From so many days before midnight to so many."""
    since, until = midnight - timedelta(days=first), midnight - timedelta(days=last)
    return Period(since.timestamp(), until.timestamp(), is_relative=True)
