"""Limits repeated log records: what an attack makes a server say again and again is counted, not written."""

from __future__ import annotations

import logging

MAX_REPEATS = 10  # records of one kind in one period
PERIOD_SECONDS = 60.0
_MAX_KINDS = 1000  # messages remembered


class RepeatFilter(logging.Filter):
    """Lets the first records of a kind pass in every period, and says how many were left out.

    The kind of a record is its logger and its message before values are filled in.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}  # when its period began, how many came since

    def filter(self, record: logging.LogRecord) -> bool:
        kind = (record.name, str(record.msg)[:200])
        began, count = self._kinds.get(kind, (record.created, 0))
        left_out = max(0, count - MAX_REPEATS)
        if record.created - began >= PERIOD_SECONDS or record.created < began:
            began, count = record.created, 0
        if len(self._kinds) >= _MAX_KINDS:
            self._kinds.clear()
        self._kinds[kind] = began, count + 1
        if count == 0 and left_out:
            record.msg = f"{record.msg} ({left_out} more like it were left out before)"
        elif count == MAX_REPEATS - 1:
            record.msg = f"{record.msg} (more like it are left out for {PERIOD_SECONDS:g} seconds)"
        return count < MAX_REPEATS
