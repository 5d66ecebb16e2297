"""What the last answer was about, so that “again”, “more” and “the second one” mean something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sojourn.core.messages import Json
from sojourn.runtimes.offline.wishes import Wish

_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a list that was shown: a file, or a place in a session."""

    kind: str  # file, session
    name: str
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """`entries` can be picked by their number; `path` is read on from line `next_line`."""

    last: Wish | None = None
    entries: tuple[Entry, ...] = ()
    path: str = ""
    next_line: int = 0

    def as_state(self) -> Mapping[str, Json]:
        return {
            "last": asdict(self.last) if self.last else None,
            "entries": [asdict(one) for one in self.entries[:_MOST]],
            "path": self.path,
            "next_line": self.next_line,
        }


_EMPTY = Trail()


def trail_from(state: Mapping[str, Json]) -> Trail:
    """What was remembered; nothing, if that is not what it is."""
    try:
        last, entries = state.get("last"), state.get("entries") or []
        return Trail(
            last=Wish(**last) if last else None,
            entries=tuple(Entry(**one) for one in entries),
            path=str(state.get("path") or ""),
            next_line=int(state.get("next_line") or 0),
        )
    except (TypeError, ValueError):
        return _EMPTY
