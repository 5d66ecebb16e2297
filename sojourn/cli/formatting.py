"""Values in words: times, sizes, counts; and text that is safe to print."""

from __future__ import annotations

from sojourn.text.formatting import format_age as format_age
from sojourn.text.formatting import format_time as format_time
from sojourn.text.formatting import one_line as one_line
from sojourn.text.formatting import pluralize as pluralize
from sojourn.text.formatting import printable as printable
from sojourn.text.formatting import to_iso as to_iso


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
