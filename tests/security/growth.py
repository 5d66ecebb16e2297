"""Measures how the time of a pattern grows with its input, on texts built from the pattern's own pieces.

A pattern that takes quadratic time or worse is found by doubling the input: linear work doubles, quadratic work
quadruples.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from itertools import product
from re import _constants as constants
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import sojourn
from sojourn.text.lazy_pattern import LazyPattern

SMALL_CHARS = 1_000
MIN_SECONDS = 0.004  # below this the clock decides, not the pattern
MAX_GROWTH = 9.0  # from n to 4 n: 4 is linear, 16 is quadratic
_MAX_TOKENS = 14
_ALWAYS = ("a", "0", " ", "\n", '"')
Text = str | bytes
Search = Callable[[Any], object]


def find_patterns(*, skip: frozenset[str]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Every compiled pattern that a module of ours holds, in containers and lazily compiled ones too."""
    seen: set[int] = set()
    for found in pkgutil.walk_packages(sojourn.__path__, "sojourn."):
        if found.name.startswith(tuple(skip)) or found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            continue  # an optional package is not installed
        for name, value in vars(module).items():
            for pattern in _patterns_in(value, 0):
                if id(pattern) not in seen:  # imported elsewhere
                    seen.add(id(pattern))
                    yield f"{found.name}.{name}", pattern


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, LazyPattern):
        yield value.compiled
    elif depth < 4 and isinstance(value, dict):
        for one in value.values():
            yield from _patterns_in(one, depth + 1)
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _patterns_in(one, depth + 1)
    elif depth < 4 and type(value).__module__.startswith("sojourn.") and not isinstance(value, type):
        names = getattr(type(value), "__slots__", ()) or vars(value) if hasattr(value, "__dict__") else ()
        for name in names:
            yield from _patterns_in(getattr(value, name, None), depth + 1)


def hostile_texts(pattern: re.Pattern[Any], chars: int) -> Iterator[Text]:
    """Texts of about this length: each piece of the pattern, and each pair of them, repeated."""
    tokens = list(dict.fromkeys([*_tokens(pattern), *_ALWAYS]))[:_MAX_TOKENS]
    for one in tokens:
        yield _as(pattern, one * (chars // len(one)))
    for one, two in product(tokens, repeat=2):
        yield _as(pattern, (one + two) * (chars // len(one + two)))
        yield _as(pattern, one + two * (chars // len(two)) + "\x00")


def _as(pattern: re.Pattern[Any], text: str) -> Text:
    return text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text


def _tokens(pattern: re.Pattern[Any]) -> Iterator[str]:
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else str(source)
    yield from sorted(set(_pieces(parser.parse(text, pattern.flags & ~re.UNICODE & ~re.LOCALE))), key=len)


def _pieces(parsed: Any) -> Iterator[str]:
    run = ""
    for op, value in parsed:
        if op is constants.LITERAL:
            run += chr(value)
            continue
        if run:
            yield run
            run = ""
        if op is constants.IN:
            yield from _class_members(value)
        elif op is constants.NOT_LITERAL or op is constants.ANY:
            yield "x"
        else:
            for inner in _inner(value):
                yield from _pieces(inner)
    if run:
        yield run


def _class_members(members: Any) -> Iterator[str]:
    for op, value in members[:4]:
        if op is constants.LITERAL:
            yield chr(value)
        elif op is constants.RANGE:
            yield chr(value[0])
        elif op is constants.CATEGORY:
            yield {"DIGIT": "0", "SPACE": " "}.get(str(value).rpartition("_")[2], "a")


def _inner(value: Any) -> Iterator[Any]:
    """The sub-patterns of a node, wherever they stand in it."""
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _inner(one)


def find_slow_text(search: Search, pattern: re.Pattern[Any]) -> tuple[float, Text] | None:
    """The growth and the beginning of a text on which `search` takes more than linear time; None if there is none."""
    sizes = (25, 32, 40, SMALL_CHARS // 8, SMALL_CHARS, SMALL_CHARS * 4)
    for *tiny, small, large in zip(*(hostile_texts(pattern, size) for size in sizes), strict=True):
        if any(_measure(search, text) > MIN_SECONDS * 5 for text in tiny) or _measure(search, small) > MIN_SECONDS * 25:
            return float("inf"), small[:60]  # worse than quadratic: the larger text would never end
        if _measure(search, large) < MIN_SECONDS:
            continue
        least = [min(_measure(search, text) for _ in range(3)) for text in (small, large)]
        if least[1] / max(least[0], 1e-9) > MAX_GROWTH:
            return least[1] / least[0], large[:60]
    return None


def _measure(search: Search, text: Text) -> float:
    began = time.thread_time()
    search(text)
    return time.thread_time() - began
