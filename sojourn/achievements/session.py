"""One session, from raw rows to its contribution: every number that rules and reading give."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from sojourn.achievements.hits import Engine, Hits, word_after, word_before
from sojourn.achievements.notation import sequences, to_re
from sojourn.achievements.paths import collect_paths
from sojourn.achievements.plan import Plan
from sojourn.achievements.rules import RuleBook
from sojourn.core.values import dataclass
from sojourn.ports.history import RawMessage

# Ignoring case makes these equal to ASCII letters; all other characters keep their own meaning.
_FOLDS = ((b"\xc4\xb0", b"i"), (b"\xc4\xb1", b"i"), (b"\xc5\xbf", b"s"), (b"\xe2\x84\xaa", b"k"))
_encode = json.JSONEncoder().encode
_SPACES = frozenset(("", " ", "\t", "\n", "\r"))


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one session adds: a number per field of the rule book, and the names of its tools."""

    values: tuple[int, ...]
    tool_names: tuple[str, ...] = ()
    problems: int = 0  # rows that had to be mended or partly skipped


@dataclass(slots=True)
class Reading:
    """What the rows of a session say before the text is searched."""

    texts: list[bytes]
    calls: list[bytes]  # tool calls as they were stored: paths in them count
    decoded_calls: list[Any]
    sequence: dict[str, int]  # name of a called tool → how often
    names: set[str]
    problems: int = 0


class SessionScanner:
    """Counts sessions by one rule book with one engine."""

    def __init__(self, book: RuleBook, plan: Plan, engine: Engine) -> None:
        self._book, self._plan, self._engine = book, plan, engine
        self._edges = [
            (number, search.rows[0].starts_at_edge, search.rows[0].ends_at_edge)
            for number, search in enumerate(plan.searches)
            if search.kind == "spots" and (search.rows[0].starts_at_edge or search.rows[0].ends_at_edge)
        ]
        self._lowered = {
            rule.rule.key: re.compile(to_re(sequences(rule.lowered))) for rule in plan.rules if rule.lowered is not None
        }
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object)
        self._repeats = False  # whether the JSON being decoded says a key twice
        self._marks: dict[str, tuple[str, ...]] = {}  # tool name → keys of the rules it counts for
        self._decoded: dict[bytes, str] = {}

    def contribution(self, rows: list[RawMessage]) -> Contribution:
        reading = self.read(rows)
        paths: set[bytes] = set()
        hits = self.search(reading, paths)
        found = self._counts(reading, hits)
        found["message_count"] = len(rows)
        found["tool_call_count"] = sum(reading.sequence.values())
        found["distinct_tool_count"] = len(reading.names)
        found["files_touched_count"] = len(paths)
        values = tuple(found[key] for key in self._book.fields)
        return Contribution(values, tuple(sorted(reading.names)), reading.problems)

    # -- reading -----------------------------------------------------------

    def read(self, rows: Sequence[RawMessage]) -> Reading:
        """The texts of the rows, and which tools they name and call."""
        reading = Reading([], [], [], {}, set())
        add_text, named = reading.texts.append, set()
        for _, role, content, structured, tool_calls, tool_name in rows:  # a million times: no step too many
            if content is None:
                add_text(b"")
            elif structured and content:
                add_text(self._serialised(content, reading))
            elif content.isascii():
                add_text(content)
            else:
                add_text(_valid(content, reading))
            if tool_name:
                named.add(tool_name)
                if role != b"tool":
                    name = self._name(tool_name)
                    reading.sequence[name] = reading.sequence.get(name, 0) + 1
            if tool_calls:
                self._read_calls(tool_calls, reading)
        for raw in named:
            name = self._name(raw)
            reading.names.add(name)
            reading.problems += not name.isascii() and name.encode() != raw
        return reading

    def _name(self, raw: bytes) -> str:
        name = self._decoded.get(raw)
        if name is None:
            name = self._decoded[raw] = raw.decode("utf-8", "replace")
        return name

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._repeats = True
        return made

    def _decode(self, text: str) -> Any:
        """Nearly everything begins and ends without spaces: they are looked for only where they are."""
        if text[:1] in _SPACES:
            return self._decoder.decode(text)
        found, end = self._decoder.raw_decode(text)
        return found if end == len(text) else self._decoder.decode(text)

    @staticmethod
    def _serialised(content: bytes, reading: Reading) -> bytes:
        """Structured content counts as the JSON text Python writes: ASCII, a space after comma and colon.

        A mere string in it counts as that string, and nothing as no text.
        """
        try:
            said = json.loads(content.decode())
            if isinstance(said, str):
                return said.encode("utf-8", "replace")  # half a character becomes a question mark: no word either
            return b"" if said is None else _encode(said).encode()
        except (ValueError, RecursionError):
            reading.problems += 1
            return content.decode("utf-8", "replace").encode()

    def _read_calls(self, raw: bytes, reading: Reading) -> None:
        """Undecodable tool calls are no calls; a call in an odd shape is skipped and noted."""
        self._repeats = False
        try:
            calls = self._decode(raw.decode())
            written = _encode(calls).encode() if self._repeats else raw
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

    # -- searching ---------------------------------------------------------

    def search(self, reading: Reading, paths: set[bytes]) -> Hits:
        """All hits in the joined texts, confirmed; the file paths in texts and calls are added to `paths`."""
        hits = self._engine.scan(b"\n".join(reading.texts))
        collect_paths(hits.data, hits.paths, paths)
        if reading.calls:
            self._search_calls(reading, paths)
        texts = reading.texts
        if hits.folds:
            texts = [_folded(text) for text in texts]
            hits = self._engine.scan(b"\n".join(texts))
            hits.folds = True
        hits.stops = [stop - 1 for stop in accumulate(len(text) + 1 for text in texts)]
        if not hits.data.isascii():
            for number, left, right in self._edges:
                if hits.ends[number]:
                    _confirm(hits, number, left, right)
        return hits

    def _search_calls(self, reading: Reading, paths: set[bytes]) -> None:
        """Paths count as Python would write the calls again; that differs from what is stored for odd escapes only."""
        calls = b"\n".join(reading.calls)
        starts, is_escaped = self._engine.paths(calls)
        if is_escaped or not calls.isascii():
            calls = b"\n".join(_written(one, reading) for one in reading.decoded_calls)
            starts, _ = self._engine.paths(calls)
        collect_paths(calls, starts, paths)

    # -- counting ----------------------------------------------------------

    def _counts(self, reading: Reading, hits: Hits) -> dict[str, int]:
        by_tool = self._by_tool(reading.sequence)
        found: dict[str, int] = {}
        for planned in self._plan.rules:
            rule = planned.rule
            if any(found[gate.key] < gate.at_least for gate in rule.gates):
                found[rule.key] = 0
                continue
            count = by_tool.get(rule.key, 0)
            if hits.folds and rule.key in self._lowered:
                text = b"\n".join(reading.texts).decode("utf-8", "replace").lower()
                count += sum(1 for _ in self._lowered[rule.key].finditer(text))
            else:
                count += sum(counter.count(hits) for counter in planned.counters)
            found[rule.key] = min(count, 1) if rule.mode == "exists" else count
        return found

    def _by_tool(self, sequence: dict[str, int]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name, times in sequence.items():
            for key in self._marks.get(name) or self._marked(name):
                counts[key] = counts.get(key, 0) + times
        return counts

    def _marked(self, name: str) -> tuple[str, ...]:
        """The rules a tool name counts for; twice if two patterns of a rule fit."""
        lower = name.lower()
        marks = tuple(
            planned.rule.key
            for planned in self._plan.rules
            for tool in planned.tools
            if any(needle in lower for needle in tool.needles)
        )
        self._marks[name] = marks
        return marks


def _valid(content: bytes, reading: Reading) -> bytes:
    try:
        content.decode()
    except UnicodeDecodeError:
        reading.problems += 1
        return content.decode("utf-8", "replace").encode()
    return content


def _written(calls: Any, reading: Reading) -> bytes:
    try:
        return _encode(calls).encode()
    except RecursionError:  # what could just be read is nested too deep to be written
        reading.problems += 1
        return b""


def _folded(text: bytes) -> bytes:
    if not text.isascii():
        for letter, partner in _FOLDS:
            text = text.replace(letter, partner)
    return text


def _confirm(hits: Hits, number: int, left: bool, right: bool) -> None:
    """Drops hits whose edge is a guess that proves wrong: the byte beside them belongs to a word character."""
    data, size = hits.data, len(hits.data)
    spans = [
        (start, end)
        for start, end in hits.spans(number)
        if not (left and start and data[start - 1] > 127 and word_before(data, start))
        and not (right and end < size and data[end] > 127 and word_after(data, end))
    ]
    hits.ends[number] = [end for _, end in spans]
    if number in hits.starts:
        hits.starts[number] = [start for start, _ in spans]
