"""The session scanner: counts every field of one session from its raw rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from sojourn.achievements.engine import FOLDS, Engine, Hits, is_word_after, is_word_before
from sojourn.achievements.message_reader import MessageReader, SessionContent, collect_paths
from sojourn.achievements.pattern_syntax import parse_pattern, to_re
from sojourn.achievements.plan import Plan
from sojourn.achievements.rules import RuleBook
from sojourn.ports.history import RawMessage


@dataclass(frozen=True, slots=True)
class Contribution:
    """The numbers of one session, one per field of the rule book, and its tool names."""

    values: tuple[int, ...]
    tool_names: tuple[str, ...] = ()
    problems: int = 0  # malformed rows, repaired or partly skipped


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
            rule.rule.key: re.compile(to_re(parse_pattern(rule.lowered)))
            for rule in plan.rules
            if rule.lowered is not None
        }
        self._conditional = [one.rule for one in plan.rules if one.rule.gates or one.rule.mode == "exists"]
        self.read = MessageReader().read
        self._rules_of_tool = cache(self._find_rules_of_tool)

    def count_session(self, rows: Sequence[RawMessage]) -> Contribution:
        """Counts all rows of one session."""
        reading = self.read(rows)
        paths: set[bytes] = set()
        counts = self._count_rules(reading, self.search(reading, paths))
        found = {
            "message_count": len(rows),
            "tool_call_count": sum(reading.sequence.values()),
            "distinct_tool_count": len(reading.names),
            "files_touched_count": len(paths),
            **counts,
        }
        for rule in self._conditional:
            if rule.mode == "exists" and found[rule.key]:
                found[rule.key] = 1
            if any(found[gate.key] < gate.at_least for gate in rule.gates):
                found[rule.key] = 0
        values = tuple(found[key] for key in self._book.fields)
        return Contribution(values, tuple(sorted(reading.names)), reading.problems)

    # -- searching ---------------------------------------------------------

    def search(self, reading: SessionContent, paths: set[bytes]) -> Hits:
        """Finds all verified hits in the joined texts; adds file paths in texts and calls to `paths`."""
        hits = self._engine.scan(b"\n".join(reading.texts))
        collect_paths(hits.data, hits.paths, paths)
        if reading.calls:
            self._search_calls(reading, paths)
        texts = reading.texts
        if hits.folds:
            texts = [_fold_case(text) for text in texts]
            hits = self._engine.scan(b"\n".join(texts))
            hits.folds = True
        hits.stops = [stop - 1 for stop in accumulate(len(text) + 1 for text in texts)]
        if not hits.data.isascii():
            for number, left, right in self._edges:
                if hits.ends[number]:
                    _confirm_edges(hits, number, left, right)
        return hits

    def _search_calls(self, reading: SessionContent, paths: set[bytes]) -> None:
        """Adds paths in tool calls as `json.dumps` would write them; only odd escapes make a difference."""
        calls = b"\n".join(reading.calls)
        starts, is_escaped = self._engine.paths(calls)
        if is_escaped or not calls.isascii():
            calls = b"\n".join(_encode_calls(one, reading) for one in reading.decoded_calls)
            starts, _ = self._engine.paths(calls)
        collect_paths(calls, starts, paths)

    # -- counting ----------------------------------------------------------

    def _count_rules(self, reading: SessionContent, hits: Hits) -> dict[str, int]:
        found = self._count_tools(reading.sequence)
        for planned in self._plan.rules:
            key = planned.rule.key
            count = found.get(key, 0)
            if hits.folds and key in self._lowered:
                text = b"\n".join(reading.texts).decode("utf-8", "replace").lower()
                count += sum(1 for _ in self._lowered[key].finditer(text))
            else:
                for counter in planned.counters:
                    count += counter.count(hits)
            found[key] = count
        return found

    def _count_tools(self, sequence: dict[str, int]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name, times in sequence.items():
            for key in self._rules_of_tool(name):
                counts[key] = counts.get(key, 0) + times
        return counts

    def _find_rules_of_tool(self, name: str) -> tuple[str, ...]:
        """The keys of the rules a tool name counts for; twice if two patterns of a rule match."""
        lower = name.lower()
        return tuple(
            planned.rule.key
            for planned in self._plan.rules
            for tool in planned.tools
            if any(needle in lower for needle in tool.needles)
        )


def _encode_calls(calls: Any, reading: SessionContent) -> bytes:
    try:
        return json.dumps(calls).encode()
    except RecursionError:  # nested too deeply for the encoder
        reading.problems += 1
        return b""


def _fold_case(text: bytes) -> bytes:
    if not text.isascii():
        for letter, partner in FOLDS:
            text = text.replace(letter, partner)
    return text


def _confirm_edges(hits: Hits, number: int, left: bool, right: bool) -> None:
    """Drops hits next to a non-ASCII word character: there is no word boundary."""
    data, size = hits.data, len(hits.data)
    spans = [
        (start, end)
        for start, end in hits.spans(number)
        if not (left and start and data[start - 1] > 127 and is_word_before(data, start))
        and not (right and end < size and data[end] > 127 and is_word_after(data, end))
    ]
    hits.ends[number] = [end for _, end in spans]
    if number in hits.starts:
        hits.starts[number] = [start for start, _ in spans]
