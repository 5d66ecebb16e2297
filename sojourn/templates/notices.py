"""A tool's own words in place of what was asked of it: not found, not unique, too large, refused, cancelled.

Tools that look at things bring other people's words; only a short answer can be a notice there. Tools that do
something answer in their own words, so their first lines are one.
"""

from __future__ import annotations

import re

from sojourn.templates import signs
from sojourn.templates.phrases import chapter

_WORDS = chapter("notices")
_SHORT, _LINES, _BRIEF = 600, 4, 160
# An answer that is nothing but a refusal or a failure, by its first words.
_REFUSAL = re.compile(_WORDS.pattern("refusal"), re.IGNORECASE)
_STOPPED = re.compile(_WORDS.pattern("stopped"), re.IGNORECASE)
_NOTICE = re.compile(_WORDS.pattern("notice"), re.IGNORECASE | re.MULTILINE)
_CHINESE_NOTICE = re.compile(_WORDS.pattern("chinese_notice"))
# A search that ran and found nothing has answered.
_FOUND_NOTHING = re.compile(_WORDS.pattern("found_nothing"), re.IGNORECASE)
_DONE = re.compile(_WORDS.pattern("done"), re.IGNORECASE)
_NAMES = re.compile(r"[\"'“「`][^\"'”」`\n]{0,200}[\"'”」`]|\S*[/\\_]\S*|\b\w+\.[a-z]{1,4}\b")
_TOKEN = re.compile(_WORDS.pattern("token"))
_PART = re.compile(r"(\d+)\s?(?:/|of|out of)\s?(\d+)\b")
_NUMBERED = re.compile(r"\s*\d+\s?[→|\t:]")


# What stands in place of a file or a listing: it opens as an error, or speaks of the thing itself.
_NOT_SHOWN = re.compile(_WORDS.pattern("not_shown"), re.IGNORECASE)
_CHINESE_NOT_SHOWN = re.compile(_WORDS.pattern("chinese_not_shown"))
_SENTENCE = re.compile(_WORDS.pattern("sentence"))
_OPENS = re.compile(_WORDS.pattern("opens"), re.IGNORECASE)
_HIT = re.compile(_WORDS.pattern("hit"), re.MULTILINE)


def refusal(text: str) -> str:
    """The first line, if the answer opens as a refusal, or is one line that tells who stood in the way: a person, a
    rule, a sandbox, the line to the tool."""
    if _REFUSAL.match(text[:500]):
        return _first(text)
    words = text[:_SHORT].strip()
    return _first(words) if len(words) <= _BRIEF and "\n" not in words and _STOPPED.match(words) else ""


def of_looking(text: str) -> str:
    """The notice that stands in place of what was to be looked at. A long answer is what was asked for."""
    words = text.strip()
    if _is_long(words) or _NUMBERED.match(words):
        return ""
    return refusal(words) or _not_shown(words)


def of_searching(text: str) -> str:
    words = text.strip()
    if _is_long(words) or _FOUND_NOTHING.search(words) or (_HIT.match(words) and not _SENTENCE.match(words)):
        return ""
    return refusal(words) or _not_shown(words)


def of_page(text: str) -> str:
    """The words of a tool that did not bring a page."""
    words = text.strip()
    return "" if _is_long(words) or words.startswith(("#", "<", "{")) else refusal(words) or _opens_as_error(words)


def _is_long(words: str) -> bool:
    return len(words) > _SHORT or words.count("\n") >= _LINES


def _not_shown(words: str) -> str:
    found = _NOT_SHOWN.search(words) or (None if words.isascii() else _CHINESE_NOT_SHOWN.search(words))
    return _first(words) if found else ""


def _opens_as_error(words: str) -> str:
    return _first(words) if _OPENS.match(words) else signs.failing_line(_first(words))


def of_doing(text: str) -> str:
    """The notice that something was not done, or only a part of it."""
    words = "\n".join(text[:2000].strip().split("\n")[:_LINES])[:_SHORT]
    part = _PART.search(words)
    is_part = part is not None and int(part[1][:18]) < int(part[2][:18])
    if is_part and (_CHINESE_NOTICE.search(words) or _NOTICE.search(words)):
        return _first(words)
    if _DONE.match(words):
        return signs.failing_line(_NAMES.sub("…", _first(words)))
    return _notice(words)


def _notice(words: str) -> str:
    if _TOKEN.fullmatch(words):
        return words
    bare = _NAMES.sub("…", words)
    found = _NOTICE.search(bare) or (None if bare.isascii() else _CHINESE_NOTICE.search(bare))
    return _first(words) if found else signs.failing_line(_first(words))


def _first(text: str) -> str:
    return text.strip().partition("\n")[0][:200]
