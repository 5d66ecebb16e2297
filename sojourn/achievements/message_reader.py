"""Reads raw messages: texts to search, tools named and called, file paths."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sojourn.ports.history import RawMessage

_SPACES = frozenset(("", " ", "\t", "\n", "\r"))


@dataclass(slots=True)
class SessionContent:
    """The texts and tool calls of one session."""

    texts: list[bytes]
    calls: list[bytes]  # tool calls as they were stored: paths in them count
    decoded_calls: list[Any]
    sequence: dict[str, int]  # name of a called tool → how often
    names: set[str]
    problems: int = 0


class MessageReader:
    """Reads the rows of sessions."""

    def __init__(self) -> None:
        self._decoder = json.JSONDecoder(object_pairs_hook=self._build_object)
        self._repeats = False  # whether the JSON being decoded has a duplicate key

    def read(self, rows: Sequence[RawMessage]) -> SessionContent:
        """Extracts the texts, tool names and tool calls of the rows."""
        reading = SessionContent([], [], [], {}, set())
        add_text, named = reading.texts.append, set()
        for _, role, content, structured, tool_calls, tool_name in rows:  # the hot loop of a scan
            if content is None:
                add_text(b"")
            elif structured and content:
                add_text(self._serialise(content, reading))
            elif content.isascii():
                add_text(content)
            else:
                add_text(_to_valid_utf8(content, reading))
            if tool_name:
                named.add(tool_name)
                if role != b"tool":
                    name = _decode_name(tool_name)
                    reading.sequence[name] = reading.sequence.get(name, 0) + 1
            if tool_calls:
                self._read_calls(tool_calls, reading)
        for raw in named:
            name = _decode_name(raw)
            reading.names.add(name)
            if not name.isascii() and name.encode() != raw:
                reading.problems += sum(row[5] == raw for row in rows)
        return reading

    def _build_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._repeats = True
        return made

    def _decode(self, text: str) -> Any:
        """Decodes JSON; skips the whitespace handling of `decode` where there is none, as nearly always."""
        if text[:1] in _SPACES:
            return self._decoder.decode(text)
        found, end = self._decoder.raw_decode(text)
        return found if end == len(text) else self._decoder.decode(text)

    @staticmethod
    def _serialise(content: bytes, reading: SessionContent) -> bytes:
        """Structured content counts as the JSON text Python writes: ASCII, a space after comma and colon.

        A JSON string counts as its text, and null as no text.
        """
        try:
            value = json.loads(content.decode())
            if isinstance(value, str):
                return value.encode("utf-8", "replace")  # a lone surrogate becomes a question mark
            return b"" if value is None else json.dumps(value).encode()
        except (ValueError, RecursionError):
            reading.problems += 1
            return content.decode("utf-8", "replace").encode()

    def _read_calls(self, raw: bytes, reading: SessionContent) -> None:
        """Adds the tool calls of a row. Invalid JSON counts as no calls; a malformed call is skipped and counted."""
        self._repeats = False
        try:
            try:
                calls = self._decode(raw.decode())
                written = json.dumps(calls).encode() if self._repeats else raw
            except UnicodeDecodeError:  # may be JSON in UTF-16 or UTF-32
                calls = json.loads(raw)
                written = json.dumps(calls).encode()
        except (ValueError, RecursionError) as error:
            reading.problems += not isinstance(error, json.JSONDecodeError)
            return
        if not calls:
            return
        reading.calls.append(written)
        reading.decoded_calls.append(calls)
        if not isinstance(calls, list):
            reading.problems += not isinstance(calls, str | dict)
            return
        for call in calls:
            if not isinstance(call, dict):
                continue
            name = call.get("name")
            if not name:
                function = call.get("function") or {}
                if not isinstance(function, dict):
                    reading.problems += 1
                    continue
                name = function.get("name")
            if isinstance(name, str) and name:
                reading.names.add(name)
                reading.sequence[name] = reading.sequence.get(name, 0) + 1
            else:
                reading.problems += bool(name)


@lru_cache(10_000)
def _decode_name(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _to_valid_utf8(content: bytes, reading: SessionContent) -> bytes:
    try:
        content.decode()
    except UnicodeDecodeError:
        reading.problems += 1
        return content.decode("utf-8", "replace").encode()
    return content


# -- file paths
# File paths mentioned in a text: `./a.py`, `~/notes.md`, anything under /home/ and /mnt/.
#
# A path is a start, then a run of word characters, dots, slashes and hyphens that goes on to the last dot of
# the run with a known extension behind it. So a run has at most one path, beginning at its first start, and
# looking at each run once is enough: that keeps a line of a million `./` from taking a million times a million steps.
#
# Extensions are tried in an order that makes `.json` end as `.js` and `.tsx` as `.ts`; here the longer ones,
# which can never win, are left out.


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
