"""Patterns that meet foreign text take linear time; functions over foreign text stay quick on hostile ones."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from sojourn.context.memory_need import find_lowest_score
from sojourn.context.steps import parse_steps
from sojourn.context.time_words import parse_period
from sojourn.core.errors import SojournError
from sojourn.core.messages import user
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.runtimes.offline.intents import parse_intent, topic_words
from sojourn.templates.judge.verdict import judge
from sojourn.text.cited_answer import SENTENCE_END, parse_answer
from sojourn.text.html_entities import unescape_html
from sojourn.text.html_export import to_html
from sojourn.text.mentions import neutralize_mentions
from sojourn.text.query import parse_query
from sojourn.text.redaction import INLINE_CHARS, redact
from sojourn.text.shell import MAX_SCRIPT_BYTES, parse_script
from sojourn.text.stream_redaction import StreamRedactor
from sojourn.tools.danger.rules import find_dangers
from sojourn.tools.html_text import html_to_text
from tests.security.growth import find_patterns, find_slow_text
from tests.unit.text.test_redaction import HOSTILE as REDACTED
from tests.unit.text.test_redaction import PEM

# Patterns of the judge meet lines and texts that were cut to a length: `judge` is measured as a whole, below.
NOT_HERE = frozenset(f"sojourn.{name}" for name in ("testing", "templates", "achievements.pattern_syntax"))
# These are only ever asked whether they fit a text from its beginning.
ANCHORED = frozenset(
    {
        "sojourn.achievements.message_reader._PATH_TEXT",
        "sojourn.context.notes._HEADING",
        "sojourn.context.steps._EACH_CHINESE",
        "sojourn.context.steps._FOR_EACH",
        "sojourn.context.steps._OF_EACH",
        "sojourn.context.steps._POLITE",
        "sojourn.context.tasks._CONTINUES",
        "sojourn.importers.claude_code.records._AUTOMATIC_TEXT",
        "sojourn.importers.cline._AUTOMATIC",
        "sojourn.importers.codex.rollout._CONTEXT",
        "sojourn.importers.export_importer._START",
        "sojourn.importers.sojourn_export._SESSION_LINE",
        "sojourn.dashboard.pages._HASHED_NAME",
        "sojourn.mcp_server.json_text._BLANK",
        "sojourn.mcp_server.json_text._STRING",
        "sojourn.skill_files._KEY",
        "sojourn.text.secret_shape._STAND_IN",
        "sojourn.tool_schema._PARAMETER_LINE",
        "sojourn.tools.danger.rules.REBUILDABLE",
        "sojourn.tools.danger.rules._RISKY_VARIABLES",
        "sojourn.tools.danger.wrappers._ASSIGNMENT",
    }
)
PATTERNS = dict(find_patterns(skip=NOT_HERE))
MAX_CPU_SECONDS = 2.0  # generous: quadratic work on these texts takes minutes


def count_hits(pattern: re.Pattern[Any]) -> Callable[[Any], object]:
    return lambda text: sum(1 for _ in pattern.finditer(text))


def test_the_measure_tells_quadratic_patterns_from_linear_ones() -> None:
    slow, quick = re.compile(r"\s+$"), re.compile(r"[a-z]{1,40}=")
    assert find_slow_text(count_hits(slow), slow) is not None
    assert find_slow_text(count_hits(quick), quick) is None


def test_patterns_are_found_in_the_modules_that_meet_foreign_text() -> None:
    packages = {name.split(".")[1] for name in PATTERNS}
    assert {"text", "tools", "http", "platforms", "context", "runtimes", "importers", "achievements"} <= packages
    assert set(PATTERNS) >= ANCHORED
    assert len(PATTERNS) > 40


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_linear_time(name: str) -> None:
    pattern = PATTERNS[name]

    def search(text: Any) -> object:
        if name in ANCHORED:
            return pattern.match(text), pattern.fullmatch(text)
        return count_hits(pattern)(text)

    slow = find_slow_text(search, pattern)
    assert slow is None, f"{pattern.pattern!r} grows {slow[0]:.0f}-fold when the text grows 4-fold: {slow[1]!r}"


HOSTILE = {
    "spaces": " " * 60_000,
    "letters": "a" * 60_000,
    "equal signs": "key=" * 15_000,
    "quotes": "'\"" * 30_000,
    "brackets": "$(" * 30_000,
    "words": "x each of y, and then " * 3_000,
    "tags": "<a <b" * 12_000,
    "dashes": "-----BEGIN " * 5_000,
    "commas": "x" + "," * 60_000 + "x",
    "question marks": "x" + "?" * 60_000 + "x",
    "Chinese": "你好" * 30_000,
    "different words": " ".join(f"word{number}" for number in range(7_000)),
    "months": "remember in march " * 3_000,
}


def shown(text: str) -> Recorded:
    return Recorded(session=SessionId("s"), seq=1, at=0.0, item=user(text))


JUDGED = ("terminal", "execute_code", "web_fetch", "read_file", "something")
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "redact": redact,
    "parse_steps": parse_steps,
    "parse_intent": parse_intent,
    "topic_words": topic_words,
    "judge": lambda text: [
        judge(tool, {"command": text}, text) for tool in ("terminal", "web_fetch", "read_file", "x")
    ],
    "find_lowest_score": find_lowest_score,
    "parse_period": lambda text: parse_period(text, datetime.now(UTC)),
    "parse_answer": lambda text: parse_answer(text, [], "model"),
    "split_sentences": SENTENCE_END.split,
    "unescape_html": unescape_html,
    "neutralize_mentions": neutralize_mentions,
    "to_html": lambda text: list(to_html(Session(id=SessionId("s")), [shown(text)])),
    "parse_query": lambda text: parse_query(text[:10_000]),
    "parse_script": lambda text: parse_script(text[:MAX_SCRIPT_BYTES]),
    "find_dangers": lambda text: find_dangers(text[:MAX_SCRIPT_BYTES]),
    "html_to_text": html_to_text,
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_small_hostile_text_is_read_quickly(name: str, kind: str) -> None:
    began = time.thread_time()
    with suppress(SojournError):
        FUNCTIONS[name](HOSTILE[kind])
    assert time.thread_time() - began < MAX_CPU_SECONDS


@pytest.mark.parametrize("unit", [*REDACTED, PEM], ids=range(len(REDACTED) + 1))
def test_what_is_redacted_in_the_loop_holds_it_for_a_moment(unit: str) -> None:
    text = unit * (INLINE_CHARS // len(unit))
    redact(text)  # compiles

    def measure(work: Callable[[], object]) -> float:
        began = time.thread_time()
        work()
        return time.thread_time() - began

    assert min(measure(lambda: redact(text)) for _ in range(3)) < 0.050
    assert min(measure(lambda: StreamRedactor().feed(text)) for _ in range(3)) < 0.050


async def test_a_long_text_that_is_redacted_in_a_thread_lets_the_loop_go_on() -> None:
    redact("password=a1b2c3d4")
    waits, work = [], asyncio.create_task(asyncio.to_thread(redact, "password=" * 30_000))
    while not work.done():
        began = time.monotonic()
        await asyncio.sleep(0.001)
        waits.append(time.monotonic() - began)
    assert len(waits) > 5
    assert sorted(waits)[len(waits) // 2] < 0.050
