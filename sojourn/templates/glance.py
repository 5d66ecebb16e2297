"""Which calls of a session seem to have worked, at first sight: a look at the bytes of all their results at once.

Mining counts by this look, and it takes a tenth of judging. It is no proof: whatever is made of what was counted is
judged before anybody sees it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Protocol

from sojourn.templates import tool_names
from sojourn.templates.phrases import chapter
from sojourn.templates.tool_calls import Exchange

try:
    import hyperscan
except ImportError:  # no wheel for this machine: slower, same sights
    hyperscan = None  # type: ignore[assignment]

_ENGINE: Any = hyperscan
_WORDS = chapter("glance")
_BETWEEN = b"\0"  # results do not run into each other


class Sights(Protocol):
    """Where something stands that tells of failure: its end, and whether it tells so whatever the tool."""

    def __call__(self, data: bytes, /) -> Iterator[tuple[int, bool]]: ...


def seem_fine(calls: Sequence[Exchange]) -> list[bool]:
    """For each call whether it was answered and nothing in its answer says at first sight that it failed."""
    fine = [one.answer is not None and not _is_marked(one) for one in calls]
    results = [one.raw for one in calls]
    stops = [stop - 1 for stop in accumulate(len(one) + 1 for one in results)]
    for end, whatever_the_tool in sights()(_BETWEEN.join(results)):
        at = bisect_left(stops, end)
        if fine[at] and (whatever_the_tool or tool_names.manner(calls[at].tool) == "run"):
            fine[at] = False
    return fine


def _is_marked(call: Exchange) -> bool:
    """What the transcript noted beside the result."""
    extra = call.extra
    return call.effect == "unknown" or bool(extra and (extra.get("is_error") is True or extra.get("ok") is False))


@cache
def sights() -> Sights:
    """The quickest way there is."""
    return Plain() if _ENGINE is None else AtOnce()


class Plain:
    def __init__(self) -> None:
        self._patterns = [(re.compile(_WORDS.pattern(name).encode()), name == "fields") for name in ("fields", "lines")]

    def __call__(self, data: bytes, /) -> Iterator[tuple[int, bool]]:
        for pattern, whatever_the_tool in self._patterns:
            for hit in pattern.finditer(data):
                yield hit.end(), whatever_the_tool


class AtOnce:
    def __init__(self) -> None:
        patterns = [one.encode() for one in (*_WORDS["fields"], *_WORDS["lines"])]
        self._fields = len(_WORDS["fields"])
        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(expressions=patterns, ids=list(range(len(patterns))), flags=[0] * len(patterns))
        self._database.scratch = hyperscan.Scratch(self._database)

    def __call__(self, data: bytes, /) -> Iterator[tuple[int, bool]]:
        found: list[tuple[int, bool]] = []
        fields = self._fields

        def hit(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            found.append((end, number < fields))

        self._database.scan(data, hit)
        return iter(found)
