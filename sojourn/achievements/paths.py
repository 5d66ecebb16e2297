"""File paths mentioned in a text: `./a.py`, `~/notes.md`, anything under /home/ and /mnt/.

A path is a start, then a run of word characters, dots, slashes and hyphens that goes on to the last dot of
the run with a known extension behind it. So a run has at most one path, beginning at its first start, and
looking at each run once is enough: that keeps a line of a million `./` from taking a million times a million steps.

Extensions are tried in an order that makes `.json` end as `.js` and `.tsx` as `.ts`; here the longer ones,
which can never win, are left out.
"""

from __future__ import annotations

import re

_EXTENSIONS = "py|js|ts|css|html|md|yaml|yml|svg|sql|sh"
_START = r"/home/|~/?|\./|/mnt/"
_START_TEXT = re.compile(_START)
_RUN_TEXT = re.compile(r"[\w./\-]*")
_PATH_TEXT = re.compile(rf"(?:{_START})[\w./\-]+\.(?:{_EXTENSIONS})")
# On bytes: the path, if there is one, and the whole run. Bytes above 127 may or may not be word characters.
_RUN = rb"[\w./\-\x80-\xff]"
_PATH_AND_RUN = re.compile(
    b"(?:((?:" + _START.encode() + b")" + _RUN + rb"+\.(?:" + _EXTENSIONS.encode() + b"))|~)?" + _RUN + b"*"
)
_LENGTHS = {ord("e"): 6, ord("t"): 5, ord("."): 2}  # of a start, by the letter before its final slash


def collect_paths(data: bytes, starts: list[int], found: set[bytes]) -> None:
    """Adds the paths of a text. `starts` are the ends of `/home/`, `/mnt/`, `./` and `~` in it, in order."""
    done = 0
    for end in starts:
        if end <= done:
            continue
        begin = end - (1 if data[end - 1] == 126 else _LENGTHS[data[end - 2]])
        run = _PATH_AND_RUN.match(data, begin)
        assert run is not None  # everything in the pattern is optional
        done = run.end()
        path: bytes | None = run[1]
        if path is not None:
            if path.isascii():
                found.add(path)
            else:
                _collect_text(run[0].decode("utf-8", "replace"), found)


def _collect_text(text: str, found: set[bytes]) -> None:
    at = 0
    while (start := _START_TEXT.search(text, at)) is not None:
        run = _RUN_TEXT.match(text, start.end())
        at = run.end() if run is not None else start.end()
        if (hit := _PATH_TEXT.match(text, start.start(), at)) is not None:
            found.add(hit[0].encode())
