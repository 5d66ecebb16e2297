"""Formatting: times and counts as words, and text that is safe to print."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MINUTE, _HOUR, _DAY = 60, 3600, 86400  # seconds
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def printable(text: str) -> str:
    """Replaces characters that would move a terminal's cursor or change its colours."""
    return _CONTROL.sub("�", text.replace("\r\n", "\n").replace("\t", "    "))


def one_line(text: str, most: int | None = None) -> str:
    """Joins a text into one line of at most `most` characters."""
    line = " ".join(printable(text if most is None else text[: most * 4 + 400]).split())
    return line if most is None or len(line) <= most else line[: most - 1] + "…"


def to_iso(at: float | None) -> str | None:
    """Formats a time as ISO 8601 in UTC. None for a number that is no date, as in broken histories."""
    if at is None:
        return None
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def dump_json(value: Any) -> str:
    """Serialises to JSON text that is valid UTF-8; lone surrogates are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def format_age(at: float, now: float) -> str:
    """Formats a time relative to now: `5 min ago`, `yesterday`, `3 Mar`."""
    age = now - at
    if age < _MINUTE:
        return "just now" if age > -_MINUTE else format_time(at)[:10]
    if age < _HOUR:
        return f"{int(age // _MINUTE)} min ago"
    if age < _DAY:
        return f"{int(age // _HOUR)} h ago"
    days = int(age // _DAY)
    if days < 7:
        return "yesterday" if days == 1 else f"{days} days ago"
    try:
        then, today = datetime.fromtimestamp(at).astimezone(), datetime.fromtimestamp(now).astimezone()
    except (ValueError, OverflowError, OSError):
        return "long ago"
    month = f"{then.day} {_MONTHS[then.month - 1]}"
    return month if then.year == today.year else f"{month} {then.year}"


def format_time(at: float) -> str:
    """Formats a time as local date and time."""
    try:
        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return str(at)


def pluralize(number: int, one: str, more: str = "") -> str:
    """Formats a number and its noun: `1 session`, `1,284 sessions`."""
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def format_bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "bytes" or number >= 100 else f"{number:,.1f} {unit}"
        number /= 1000
    raise AssertionError


def format_duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"
