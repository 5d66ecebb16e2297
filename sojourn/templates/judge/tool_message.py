"""Finds a tool's own message in place of what it was asked for: not found, too large, refused, cancelled.

A tool that reads returns other people's text, so only a short answer can be a message there. A tool that writes
answers in its own words.
"""

from __future__ import annotations

import re

from sojourn.templates.judge import failure_text
from sojourn.templates.judge.phrases import compile_table

_I = re.IGNORECASE
_REFUSAL = compile_table("message", "refusal", _I, before=r"\s*\W{0,2}")
_ERROR = compile_table("message", "error", _I, before=r"\W{0,3}")
_NEGATION = compile_table("message", "negation", _I)
_NOT_WRITTEN = compile_table("message", "not_written", _I | re.MULTILINE)
_NOT_READ = compile_table("message", "not_read", _I)
_NO_RESULTS = compile_table("message", "no_results", _I)
_DONE = compile_table("message", "done", _I, before=r"\s*")
_NAMES = re.compile(r"[\"'“「`][^\"'”」`\n]{0,200}[\"'”」`]|\S*[/\\]\S*|\b\w+\.[a-z]{1,4}\b")
_PART = re.compile(r"(\d+)\s?(?:/|of|out of)\s?(\d+)\b")
_CONTENT = re.compile(
    r"\s*\d+\s?[→|\t:]|[\w./-]+\.\w{1,5}[:\s]|[\w.-]*/\S*:|\S+[:\-]\d+[:\-]|\[(?:DIR|FILE)\]|Found \d"
)
_MAX_CHARACTERS, _MAX_LINES = 600, 4


def find_refusal(text: str) -> str:
    """The first line, if a person, a rule, a sandbox or a lost connection kept the tool from running."""
    return _first_line(text) if _REFUSAL.match(text[:_MAX_CHARACTERS]) else ""


def find_read_failure(text: str) -> str:
    """The message in place of a file, a listing, a snapshot or search results; finding nothing is an answer."""
    words = text.strip()
    if _is_long(words) or _CONTENT.match(words) or _NO_RESULTS.search(words):
        return ""
    is_failure = _REFUSAL.match(words) or _ERROR.match(words) or _NOT_READ.search(words)
    return _first_line(words) if is_failure else ""


def find_fetch_failure(text: str) -> str:
    """The message of a tool that did not bring a page."""
    words = text.strip()
    if _is_long(words) or words.startswith(("#", "<", "{")):
        return ""
    first = _first_line(words)
    is_failure = _REFUSAL.match(words) or _ERROR.match(words)
    return first if is_failure else failure_text.find_failure_line(first)


def find_write_failure(text: str) -> str:
    """The message that something was not done, or only a part of it."""
    words = "\n".join(text[:2000].strip().split("\n")[:_MAX_LINES])[:_MAX_CHARACTERS]
    bare, first, part = _NAMES.sub("…", words), _first_line(words), _PART.search(words)
    is_negative = _ERROR.match(bare) or _NOT_WRITTEN.search(bare) or is_negated(bare)
    is_partial = part is not None and int(part[1][:18]) < int(part[2][:18])
    if is_negative and (is_partial or not is_done(words)):
        return first
    return failure_text.find_failure_line(_NAMES.sub("…", first))


def is_negated(message: str) -> bool:
    """Whether a message says that something is wrong or was not possible."""
    return _NEGATION.search(message) is not None


def is_error(message: str) -> bool:
    """Whether a message opens as an error."""
    return _ERROR.match(message) is not None


def is_done(message: str) -> bool:
    """Whether a message opens as a success."""
    return _DONE.match(message) is not None


def _is_long(words: str) -> bool:
    return len(words) > _MAX_CHARACTERS or words.count("\n") >= _MAX_LINES


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]
