"""Signs that something went wrong, in English and Chinese, where programs put them: at the start of a line.

Prose may speak of errors as it likes; a sign is a line that a program writes when it fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sojourn.templates.hints import finder
from sojourn.templates.phrases import Sought, Spotted, chapter

_WORDS = chapter("signs")
_OPENS = Sought(*_WORDS["english"], *_WORDS["chinese"])
_HOLDS = _WORDS.sought("anywhere")
_COUNTS = _WORDS.sought("count")  # what a test run or a build says in numbers
_MARGIN = " \t│›>|•"  # what stands before a line
# What a shell or a reading program says itself when it cannot do its work.
_COMPLAINT = re.compile(_WORDS.pattern("complaint"))
_SHELL = re.compile(r"(?:^|/)(?:(?:ba|z|da|k|fi|)sh|sudo|gzip|tar|xargs)$")
_MAY_NOT = re.compile(r"(?:Permission denied|权限不[够足]|Operation not permitted)\s*$", re.MULTILINE)
_FINE = _WORDS.sought("fine")
_NONE_FAILED = re.compile(r"(?<!\d)0 (?:failed|failing|errors?|failures?)\b|失败 ?0\b")
_VERDICT = Sought(
    rf"^(?!(?:ERROR|WARN|INFO|DEBUG)\w*[:\s\[]).*?(?:{_WORDS.pattern('count')})",
    r"^\s*(?:FAIL(?:ED)?|not ok)\b(?!\s?[:=]?\s*0\b)",
)
# What was counted.
_STATISTIC = re.compile(r"[^\n:：=]{1,40}[:：=]\s{0,8}[\d.,]{1,20}\s?(?:%|times|次|of \d{1,12})?\W*")
_CODED = re.compile(_WORDS.pattern("coded"))
# A line that tells of something passed over: a warning, a row left out, a try before the next one.
_MINOR = _WORDS.sought("minor")
_TRY = re.compile(r"(?i:\bretrying\b|\b(?:attempt|try) #?\d)|(?:后|等待|正在)重试|第 ?\d+ ?次")
_FAILED_TRY = re.compile(r"(?i:fail|refused|timed? ?out|error)|失败|超时|出错|拒绝")
_BY_NAME = _WORDS.sought("by_name")
_WORD = re.compile(r"[\w.+-]+")
_ABSENT = re.compile(r"(?i:no such|not found|does not exist|doesn't exist|not running)|没有那个|不存在|找不到")
_UNKNOWN = re.compile(r"(?:command |\w: )not found|未找到命令|module named|Cannot find module|not recognized")
LOOKED_AT = 1_200  # characters from each end: a failure is told first or last
_COMPLAINTS = ("not found", "No such file", "Permission den", "a direc", "annot find", "cannot open", "is denied")
_CHINESE_COMPLAINTS = ("未找到命令", "没有那个文件", "权限不够", "目录", "找不到", "拒绝访问")


class Line(NamedTuple):
    """A telling line and where it stands."""

    at: int
    text: str


class Told(NamedTuple):
    """What a program said: all of it, its beginning and end, and the words in these with which programs fail; `near`
    says which patterns are worth trying on a line of it."""

    whole: str
    ends: str
    hints: list[str]
    near: Spotted


def ends(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= 2 * LOOKED_AT else f"{text[:LOOKED_AT]}\n{text[-LOOKED_AT:]}"


def told(output: str) -> Told:
    """Most outputs hold no word with which programs fail, and mining reads a hundred thousand of them."""
    looked_at = ends(output)
    return Told(output, looked_at, *finder()(looked_at))


def failing_lines(said: Told, call: str = "") -> list[Line]:
    """The lines a failing program would write, in order."""
    lines, near = _lines_with(said.hints, said.ends), said.near
    return [one for one in lines if complains(one.text, call, near) or _is_failing(one.text, near)]


def _lines_with(hints: Sequence[str], text: str) -> list[Line]:
    """The lines that hold a hint, in order."""
    folded = text.lower()
    if len(folded) != len(text):  # a letter changed its length
        return [Line(text.find(line), line) for line in text.split("\n")]
    starts: set[int] = set()
    for hint in hints:
        at = folded.find(hint)
        while at >= 0:
            starts.add(folded.rfind("\n", 0, at) + 1)
            after = folded.find("\n", at)
            at = folded.find(hint, after) if after >= 0 else -1
    return [Line(at, text[at : end if (end := text.find("\n", at)) >= 0 else None]) for at in sorted(starts)]


def _is_failing(line: str, near: Spotted) -> bool:
    return _is_sign(line, near) and (is_verdict(line, near) or not _is_fine(line, near))


def _is_sign(line: str, near: Spotted) -> bool:
    bare = line.lstrip(_MARGIN)
    if len(line) - len(bare) <= 8 and _OPENS.match(bare, near):
        return True
    return bool(_HOLDS.search(line, near) or _COUNTS.search(line, near))


def _is_fine(line: str, near: Spotted) -> bool:
    if _FINE.search(line, near) or _MINOR.search(line, near):
        return True
    return bool(_STATISTIC.fullmatch(line.strip())) and not _CODED.match(line)


def complains(line: str, call: str, near: Spotted) -> bool:
    """Whether a program that was called says by name that it cannot."""
    hit = _BY_NAME.match(line, near)
    return hit is not None and hit[1] in _words(call) and not _is_fine(line, near)


@lru_cache(maxsize=16)  # a call has many lines
def _words(call: str) -> frozenset[str]:
    return frozenset(_WORD.findall(call[:4000]))


def failing_line(text: str) -> str:
    """The first of them; empty when there is none."""
    found = failing_lines(told(text))
    return found[0].text.strip()[:200] if found else ""


def is_absence(line: str) -> bool:
    """Whether it says no more than that something is not there."""
    return bool(_ABSENT.search(line))


def is_unknown(line: str) -> bool:
    """Whether it is the program that is not there."""
    return bool(_UNKNOWN.search(line))


def is_vain_try(line: str) -> bool:
    """A try that failed: when nothing comes after it, it was the last one."""
    return bool(_TRY.search(line)) and bool(_FAILED_TRY.search(line))


def is_verdict(line: str, near: Spotted | None = None) -> bool:
    """A count of what failed, or a test run's last word."""
    is_worth_it = "FAIL" in line or "not ok" in line or _COUNTS.search(line, near)
    return bool(is_worth_it) and _VERDICT.search(line) is not None


def is_good(line: str) -> bool:
    """Whether a line that holds a bad word is none the less fine."""
    return not is_verdict(line) and bool(_FINE.search(line) or _MINOR.search(line) or _NONE_FAILED.search(line))


def is_minor(line: str) -> bool:
    return _MINOR.search(line) is not None


def _is_called(name: str | None, call: str) -> bool:
    """Whether it is one of the programs or files of the call that speaks, not a text that was read."""
    return not name or name in call or _SHELL.search(name) is not None


def complaint(text: str, call: str) -> str:
    """The line in which a shell or a reading program says that it cannot. That it may not look at a few of many things
    does not count: what it was to look at was there."""
    looked_at = ends(text)
    words = _COMPLAINTS if looked_at.isascii() else _COMPLAINTS + _CHINESE_COMPLAINTS
    if not any(word in looked_at for word in words):
        return ""
    lines = [line for line in looked_at.split("\n") if line.strip()]
    found = [line for line in lines if (hit := _COMPLAINT.match(line)) and _is_called(hit[1], call)]
    told = next((line for line in found if not _MAY_NOT.search(line)), "")
    return (told or (found[0] if len(found) == len(lines) and found else "")).strip()[:200]


def is_not_allowed_all(text: str) -> bool:
    """Whether a search tells of things that it was not allowed to look at."""
    return bool(_MAY_NOT.search(ends(text)))
