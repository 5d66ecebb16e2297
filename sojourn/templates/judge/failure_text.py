"""Finds the texts that report failure, in English and Chinese: what programs print, and what tools answer.

An exit code of 0 is often that of a pipe's last command, so the output of a program is read too; the last lines decide.
Prose may mention errors: only the shapes of lines that failing programs print count. A tool that reads returns other
people's text, so only a short answer can be its own message. A tool that writes answers in its own words.
"""

from __future__ import annotations

import re

from sojourn.templates.judge.phrases import TABLES, compile_table

_I = re.IGNORECASE
_HINTS = tuple(TABLES["program"]["hints"])
_OPENING = compile_table("program", "opening", before=r"[ \t│›>|•]{0,8}")
_ANYWHERE = compile_table("program", "anywhere")
_COUNT = compile_table("program", "count")
HARMLESS = compile_table("program", "harmless")
_SUMMARY = re.compile(r"^\s*(?:FAIL(?:ED)?|not ok)\b(?!\s?[:=]?\s*0\b)")
_COMPLAINT = compile_table("program", "complaint")
_SHELL = re.compile(r"(?:^|/)(?:(?:ba|z|da|k|fi|)sh|sudo|gzip|tar|xargs)$")
DENIED = re.compile(r"(?:Permission denied|权限不[够足]|Operation not permitted)\s*$", re.MULTILINE)
_GAVE_UP = compile_table("program", "gave_up")
_PARTIAL = compile_table("program", "partial")
_PASSED = compile_table("program", "passed")
NEGATIVE = re.compile(r"(?i:\bnot\b|\bno\b|n't\b|\bfail|\berror|\b0 )|未|不|没|失败|错误|[^\d]0 ?[个条行份]")
_NOTHING_TO_COMMIT = re.compile(r"nothing (?:added )?to commit|无文件要提交|没有[^\n]{0,12}提交")
_EXIT_ECHO = re.compile(r"(?:\w[\w ]{0,30})?\W{0,3}[1-9]\d{0,2}")  # what `echo $?` prints
_YES_OR_NO = re.compile(r"\b(?:grep|rg|diff|cmp|test|which|pgrep|command -v)\b|\[ ")
_FALLBACK = re.compile(r"\|\|\s*echo\s+(['\"]?)([^'\"|;&]{1,80})\1\s*$")
_REFUSAL = compile_table("message", "refusal", _I, before=r"\s*\W{0,2}")
ERROR = compile_table("message", "error", _I, before=r"\W{0,3}")
NEGATION = compile_table("message", "negation", _I)
_NOT_WRITTEN = compile_table("message", "not_written", _I | re.MULTILINE)
_NOT_READ = compile_table("message", "not_read", _I)
_NO_RESULTS = compile_table("message", "no_results", _I)
SUCCESS = compile_table("message", "done", _I, before=r"\s*")
_NAMES = re.compile(r"[\"'“「`][^\"'”」`\n]{0,200}[\"'”」`]|\S*[/\\]\S*|\b\w+\.[a-z]{1,4}\b")
_PART = re.compile(r"(\d+)\s?(?:/|of|out of)\s?(\d+)\b")
_CONTENT = re.compile(
    r"\s*\d+\s?[→|\t:]|[\w./-]+\.\w{1,5}[:\s]|[\w.-]*/\S*:|\S+[:\-]\d+[:\-]|\[(?:DIR|FILE)\]|Found \d"
)
_MESSAGE_CHARACTERS, _MESSAGE_LINES = 600, 4
_END_CHARACTERS = 800  # of each end of the output: a failure is reported first or last
_LINE_CHARACTERS = 300
_LAST_LINES = 8


def cut_middle(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= 2 * _END_CHARACTERS else f"{text[:_END_CHARACTERS]}\n{text[-_END_CHARACTERS:]}"


def find_failure(output: str, command: str) -> str:
    """The line that says that a program failed."""
    text = cut_middle(output)
    last_lines = text.rstrip().split("\n")[-_LAST_LINES:]
    last_lines = [line[:_LINE_CHARACTERS] for line in last_lines if line.strip()] or [""]
    if reason := _find_bad_end(last_lines, command):
        return reason
    failures = _list_failure_lines(text)
    return "" if not failures or _has_passed(last_lines) else failures[0].strip()[:200]


def _list_failure_lines(text: str) -> list[str]:
    folded = text.lower()
    hints = [hint for hint in _HINTS if hint in folded]  # most outputs have none
    lines = zip(text.split("\n"), folded.split("\n"), strict=True) if hints else ()
    found = [line[:_LINE_CHARACTERS] for line, low in lines if any(hint in low for hint in hints)]
    return [line for line in found if _is_failure(line)]


def _is_failure(line: str) -> bool:
    is_reported = _OPENING.match(line) or _ANYWHERE.search(line)
    return _is_failure_count(line) or bool(is_reported and not HARMLESS.search(line))


def _is_failure_count(line: str) -> bool:
    """Whether it counts failures, as the summary of a test run does."""
    return bool(_SUMMARY.match(line) or _COUNT.search(line))


def _find_bad_end(lines: list[str], command: str) -> str:
    """The line in which a program says that it stopped, gave up, or did a part."""
    last = lines[-1].strip()
    hit = _GAVE_UP.search(last)
    if hit and not HARMLESS.search(last) and hit[0].strip("已 .!").lower()[:6] not in command.lower():
        return last
    for line in (line for line in lines[-3:] if " of " in line or "/" in line or "／" in line):
        counts = [int(one[:18]) for one in hit.groups() if one] if (hit := _PARTIAL.search(line)) else [0, 0]
        if counts[0] < counts[1]:
            return line.strip()[:200]
    if "$?" in command and _EXIT_ECHO.fullmatch(last) and not _YES_OR_NO.search(command):
        return last
    if (hit := _FALLBACK.search(command[-200:])) and last == hit[2] and not _YES_OR_NO.search(command):
        return last
    return next((line for line in lines if "commit" in command and _NOTHING_TO_COMMIT.match(line)), "")


def _has_passed(last_lines: list[str]) -> bool:
    """Whether the tests passed in spite of a failure."""
    if any(_is_failure_count(line) for line in last_lines):
        return False
    return any(_PASSED.match(line.strip()) or "ignored)" in line or "已忽略" in line for line in last_lines)


def find_complaint(text: str, command: str) -> str:
    """The line in which the shell or a program of the command says that it cannot read its input. Some unreadable
    files among many readable ones do not count."""
    lines = [line[:_LINE_CHARACTERS] for line in cut_middle(text).split("\n") if line.strip()]
    found = [line for line in lines if (hit := _COMPLAINT.match(line)) and _is_of_command(hit[1], command)]
    line = next((line for line in found if not DENIED.search(line)), "")
    return (line or (found[0] if found and len(found) == len(lines) else "")).strip()[:200]


def _is_of_command(name: str | None, command: str) -> bool:
    return not name or name in command or _SHELL.search(name) is not None


def find_refusal(text: str) -> str:
    """The first line, if a person, a rule, a sandbox or a lost connection kept the tool from running."""
    return _get_first_line(text) if _REFUSAL.match(text[:_MESSAGE_CHARACTERS]) else ""


def find_read_failure(text: str) -> str:
    """The message in place of a file, a listing, a snapshot or search results; finding nothing is an answer."""
    words = text.strip()
    if _is_long(words) or _CONTENT.match(words) or _NO_RESULTS.search(words):
        return ""
    is_failure = _REFUSAL.match(words) or ERROR.match(words) or _NOT_READ.search(words)
    return _get_first_line(words) if is_failure else ""


def find_fetch_failure(text: str) -> str:
    """The message of a tool that did not bring a page."""
    words = text.strip()
    if _is_long(words) or words.startswith(("#", "<", "{")):
        return ""
    first = _get_first_line(words)
    return first if _REFUSAL.match(words) or ERROR.match(words) else _find_failure_line(first)


def find_write_failure(text: str) -> str:
    """The message that something was not done, or only a part of it."""
    words = "\n".join(text[:2000].strip().split("\n")[:_MESSAGE_LINES])[:_MESSAGE_CHARACTERS]
    bare, first, part = _NAMES.sub("…", words), _get_first_line(words), _PART.search(words)
    is_negative = ERROR.match(bare) or _NOT_WRITTEN.search(bare) or NEGATION.search(bare)
    is_partial = part is not None and int(part[1][:18]) < int(part[2][:18])
    if is_negative and (is_partial or not SUCCESS.match(words)):
        return first
    return _find_failure_line(_NAMES.sub("…", first))


def _is_long(words: str) -> bool:
    return len(words) > _MESSAGE_CHARACTERS or words.count("\n") >= _MESSAGE_LINES


def _get_first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _find_failure_line(text: str) -> str:
    return next((line.strip()[:200] for line in _list_failure_lines(cut_middle(text))), "")
