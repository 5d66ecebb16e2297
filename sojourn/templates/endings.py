"""How a run ended, by the words of the program: it stopped, it gave up politely, it did a part, or it got over it.

An exit code of 0 is often that of a pipe's last command, or of a script that minds nothing; and an error in the
output is often one that was met and overcome. What comes last decides.
"""

from __future__ import annotations

import re

from sojourn.templates import signs
from sojourn.templates.hints import TELLING
from sojourn.templates.phrases import Spotted, chapter, has_any

# The last line of a program that did not go through with it, and says so in its own words.
_WORDS = chapter("endings")
_GAVE_UP = _WORDS.sought("gave_up")
_ROW = re.compile(r"\S(?:\t|  +| ?\| ?)\S|^\s*(?:\d+\s+[^\s，。]+$|\[\d+\])")  # of a table or a list
_ENDED = ("cancel", "terminat", "abort", "interrupt", "取消", "终止", "中止", "中断")
_NOTHING_MOVED = _WORDS.sought("nothing_moved")
_COUNTED = re.compile(r"\d\s?(?:/|of|out of|／)\s?\d")
_PART = _WORDS.sought("part")
# The last word of a test run; what its tests wrote before is their matter.
_PASSED = re.compile(_WORDS.pattern("passed"))
_SUMMARY_LINES = 8
# Words with which a program ends that did what it was asked.
_GOOD = _WORDS.sought("good")
_SURE = re.compile(r"(?i:(?<!un)\bsuccess(?:ful|fully)?\b|\bsucceeded\b)|成功")
_CLEARING = re.compile(_WORDS.pattern("clearing"))  # what may be gone already
_BAD = re.compile(r"(?i:\bnot\b|\bno\b|n't\b|\bfail|\berror|\b0 )|未|不|没|失败|错误|[^\d]0 ?[个条行份]")
_MADE = re.compile(r"(?<![\d.])[1-9][\d,]*(?![\d.]*\s*(?:s|ms|sec|seconds|秒|毫秒)\b)")
_NOTHING_NEW = re.compile(r"nothing (?:added )?to commit|无文件要提交|没有[^\n]{0,12}提交")
_COMMITS = re.compile(r"\bgit\b.{0,80}\bcommit\b")
_RETURNED = re.compile(r"(?:\w[\w ]{0,30})?\W{0,3}[1-9]\d{0,2}")  # what `echo $?` shows
_ASKS_YES_OR_NO = re.compile(r"\b(?:grep|rg|diff|cmp|test|which|pgrep|command -v)\b|\[ ")
_FALLBACK = re.compile(r"\|\|\s*echo\s+(['\"]?)([^'\"|;&]{1,80})\1\s*$")  # what is said when it did not work
_SHORT = 400  # characters in which a program says how it ended


def failure(said: signs.Told, call: str, *, chained: bool = False, forgives: bool = False) -> str:
    """The line that says that it did not work; empty when it did. `call` is the command or code; in a `chained` one
    a later step says nothing of an earlier one; one that `forgives` does not mind what is not there."""
    if why := _ended_badly(_last_lines(said.ends), said, call):
        return why
    failing = signs.failing_lines(said, call)
    if forgives:
        failing = [one for one in failing if not (signs.is_absence(one.text) and not signs.is_unknown(one.text))]
    if not failing or _got_over(failing, said, call, chained):
        return ""
    return failing[0].text.strip()[:200]


def is_of_table(line: str) -> bool:
    """Whether it is a row of a table, which does not speak of the run."""
    return _ROW.search(line) is not None


def is_bad(text: str) -> bool:
    return bool(_BAD.search(text))


def is_telling(said: signs.Told) -> bool:
    """Whether it holds any word with which a program fails, stops or gives up."""
    if said.hints:
        return True
    telling = [word for word in said.near.words if word in TELLING]
    return bool(telling) and has_any(said.ends[-_SHORT:].lower(), telling)


def _last_lines(text: str) -> list[str]:
    lines = text.rstrip().rsplit("\n", _SUMMARY_LINES)[-_SUMMARY_LINES:]
    return [line for line in lines if line.strip()] or [""]


def _ended_badly(lines: list[str], said: signs.Told, call: str) -> str:
    last, output, near = lines[-1].strip()[:_SHORT], said.whole, said.near
    if ("try" in last or "ttempt" in last or "次" in last or "重试" in last) and signs.is_vain_try(last):
        return last
    hit = _GAVE_UP.search(last, near)
    if hit and not (is_of_table(lines[-1]) or _is_harmless(last, hit[0]) or is_what_was_asked(hit[0], call)):
        return last
    for line in lines[-3:]:
        if _is_part(line, near) or ("0" in line and _NOTHING_MOVED.search(line, near)):
            return line.strip()[:200]
    if "$?" in call and _RETURNED.fullmatch(last) and not _ASKS_YES_OR_NO.search(call):
        return last
    if "|| echo" in call and (hit := _FALLBACK.search(call[-200:])) and last == hit[2]:
        return "" if _ASKS_YES_OR_NO.search(call) else last
    commits = ("nothing" in output or "提交" in output) and _COMMITS.search(call)
    return next((line for line in lines if _NOTHING_NEW.match(line)), "") if commits else ""


def _is_harmless(last: str, told: str) -> bool:
    """Whether the bad word is not: it counts none, or tells of a thing passed over and not of the whole."""
    return signs.is_good(last) and "kipping" not in told


def is_what_was_asked(word: str, call: str) -> bool:
    """Whether something was to be cancelled, and is."""
    return any(stem in call.lower() for stem in _ENDED if stem in word.lower())


def _is_part(line: str, near: Spotted) -> bool:
    """Whether it tells of a part of what was to be moved."""
    is_counted = (" of " in line or "/" in line or "／" in line) and _COUNTED.search(line)
    hit = _PART.search(line, near) if is_counted else None
    counts = [int(one[:18]) for one in hit.groups() if one] if hit else [0, 0]
    return counts[0] < counts[1]


def _got_over(failing: list[signs.Line], told: signs.Told, call: str, chained: bool) -> bool:
    """Whether what went wrong was overcome: the tests passed, or the thing was made in the end."""
    text, near = told.ends, told.near
    lines = _last_lines(text)
    if any(signs.is_verdict(line, near) for line in lines):
        return False
    if any(_PASSED.match(line.strip()) for line in lines):
        return True
    if any("ignored)" in line or "已忽略" in line for line in lines):
        return True
    after = [line for line in lines if text.rfind(line) > failing[-1].at]
    said = [line.strip() for line in after if _GOOD.search(line, near) and not _BAD.search(line)]
    meant = [line for line in said if line not in call]  # `; echo done` is said whatever happened
    if all(_CLEARING.search(one.text) and signs.is_absence(one.text) for one in failing):
        return bool(meant)
    return not chained and any(_MADE.search(line) or _SURE.search(line) for line in meant)
