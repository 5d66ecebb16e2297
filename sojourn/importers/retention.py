"""How long other programs keep their sessions: some delete them by themselves."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from sojourn.importers.history_importer import read_side_document
from sojourn.importers.transcript_builder import as_mapping
from sojourn.ports.importer import FoundHistory

_DAY_SECONDS = 86_400.0
_DEFAULT_DAYS = 30.0  # of Claude Code and of Gemini CLI
_AGE = re.compile(r"(\d{1,5})([hdwm])")
_UNIT_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """What a program will delete next."""

    source: str
    home: str
    days: float  # after which it deletes a session
    next_at: float  # when the oldest session goes; it may be in the past, if the program has not run since
    soon: int  # how many sessions go within three days


def find_deletion(found: FoundHistory, now: float | None = None) -> Deletion | None:
    """What the program of a history will delete; None if it keeps everything, or has nothing."""
    read_days = _READ_DAYS.get(found.source)
    days = read_days(found.home) if read_days else None
    if days is None or not found.home.is_dir():
        return None
    times = sorted(_read_time(path) for path in found.home.rglob("*.jsonl"))
    if not times:
        return None
    until = (time.time() if now is None else now) + (3 - days) * _DAY_SECONDS
    return Deletion(
        source=found.source,
        home=str(found.home),
        days=days,
        next_at=times[0] + days * _DAY_SECONDS,
        soon=sum(one < until for one in times),
    )


def _read_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()  # deleted meanwhile


def _read_claude_days(home: Path) -> float | None:
    """Of its settings only this number is used; 0 means that it keeps nothing."""
    days = read_side_document(home / "settings.json").get("cleanupPeriodDays", _DEFAULT_DAYS)
    return float(days) if isinstance(days, int | float) and not isinstance(days, bool) else _DEFAULT_DAYS


def _read_gemini_days(home: Path) -> float | None:
    root = home if (home / "settings.json").is_file() else home.parent
    general = as_mapping(read_side_document(root / "settings.json").get("general"))
    retention = as_mapping(general.get("sessionRetention"))
    if retention.get("enabled") is False:
        return None
    age = _AGE.fullmatch(str(retention.get("maxAge", "30d")))
    return int(age[1]) * _UNIT_DAYS[age[2]] if age else _DEFAULT_DAYS


_READ_DAYS: Mapping[str, Callable[[Path], float | None]] = MappingProxyType(
    {"claude-code": _read_claude_days, "gemini": _read_gemini_days}
)
