"""Finds the lines with which programs report failure, in English and Chinese, and whether the run recovered later.

An exit code of 0 is often that of a pipe's last command, and an error in the output is often one that was handled: the
last lines decide. Prose may mention errors: only the shapes of lines that failing programs print count.
"""

from __future__ import annotations

import re

from sojourn.templates.judge.phrases import compile_table, load_words

_HINTS = load_words("program", "hints")
_OPENING = compile_table("program", "opening", before=r"[ \t│›>|•]{0,8}")
_ANYWHERE = compile_table("program", "anywhere")
_COUNT = compile_table("program", "count")
_HARMLESS = compile_table("program", "harmless")
_SUMMARY = re.compile(r"^\s*(?:FAIL(?:ED)?|not ok)\b(?!\s?[:=]?\s*0\b)")
_LOG_LINE = re.compile(r"(?:ERROR|WARN|INFO|DEBUG)\w*[:\s\[]")
_STATISTIC = re.compile(
    r"(?!\w*(?:Error|Exception): \d|.{0,12}\d{3})[^\n:：=]{1,40}[:：=]\s{0,8}[\d.,]{1,20}\s?(?:%|次)?\W*"
)
_COMPLAINT = compile_table("program", "complaint")
_SHELL = re.compile(r"(?:^|/)(?:(?:ba|z|da|k|fi|)sh|sudo|gzip|tar|xargs)$")
_DENIED = re.compile(r"(?:Permission denied|权限不[够足]|Operation not permitted)\s*$", re.MULTILINE)
_GAVE_UP = compile_table("program", "gave_up")
_PARTIAL = compile_table("program", "partial")
_PASSED = compile_table("program", "passed")
_DONE = compile_table("program", "done")
_NEGATIVE = re.compile(r"(?i:\bnot\b|\bno\b|n't\b|\bfail|\berror|\b0 )|未|不|没|失败|错误|[^\d]0 ?[个条行份]")
_PRODUCT = re.compile(
    r"(?<![\d.])[1-9][\d,]*(?![\d.]*\s*(?:s|ms|sec|seconds|秒|毫秒)\b)|(?<!un)(?i:success|succeeded)|成功"
)
_NOTHING_TO_COMMIT = re.compile(r"nothing (?:added )?to commit|无文件要提交|没有[^\n]{0,12}提交")
_EXIT_ECHO = re.compile(r"(?:\w[\w ]{0,30})?\W{0,3}[1-9]\d{0,2}")  # what `echo $?` prints
_YES_OR_NO = re.compile(r"\b(?:grep|rg|diff|cmp|test|which|pgrep|command -v)\b|\[ ")
_FALLBACK = re.compile(r"\|\|\s*echo\s+(['\"]?)([^'\"|;&]{1,80})\1\s*$")
_END_CHARACTERS = 800  # of each end of the output: a failure is reported first or last
_LINE_CHARACTERS = 300
_LAST_LINES = 8


def cut_middle(text: str) -> str:
    """The beginning and the end of a long text."""
    return text if len(text) <= 2 * _END_CHARACTERS else f"{text[:_END_CHARACTERS]}\n{text[-_END_CHARACTERS:]}"


def find_failure(output: str, command: str, *, is_sequence: bool = False) -> str:
    """The line that says that a program failed. In a sequence a later success says nothing of an earlier step."""
    text = cut_middle(output)
    last_lines = text.rstrip().split("\n")[-_LAST_LINES:]
    last_lines = [line[:_LINE_CHARACTERS] for line in last_lines if line.strip()] or [""]
    if reason := _find_bad_end(last_lines, command):
        return reason
    failures = _failure_lines(text)
    if not failures or _has_recovered(failures, text, last_lines, command, is_sequence):
        return ""
    return failures[0].strip()[:200]


def find_failure_line(text: str) -> str:
    """The first line that a failing program would print."""
    return next((line.strip()[:200] for line in _failure_lines(cut_middle(text))), "")


def _failure_lines(text: str) -> list[str]:
    folded = text.lower()
    hints = [hint for hint in _HINTS if hint in folded]  # most outputs have none
    lines = zip(text.split("\n"), folded.split("\n"), strict=True) if hints else ()
    found = [line[:_LINE_CHARACTERS] for line, low in lines if any(hint in low for hint in hints)]
    return [line for line in found if _is_failure(line)]


def _is_failure(line: str) -> bool:
    if is_failure_count(line):
        return True
    if _STATISTIC.fullmatch(line.strip()) or not (_OPENING.match(line) or _ANYWHERE.search(line)):
        return False
    return not is_harmless(line)


def is_failure_count(line: str) -> bool:
    """Whether it counts failures, as the summary of a test run does."""
    return bool(_SUMMARY.match(line) or (_COUNT.search(line) and not _LOG_LINE.match(line)))


def is_harmless(line: str) -> bool:
    """Whether it is a warning, a retry, a skipped row or a count of zero."""
    return _HARMLESS.search(line) is not None


def is_negative(line: str) -> bool:
    return _NEGATIVE.search(line) is not None


def _find_bad_end(lines: list[str], command: str) -> str:
    """The line in which a program says that it stopped, gave up, or did a part."""
    last = lines[-1].strip()
    hit = _GAVE_UP.search(last)
    if hit and not is_harmless(last) and hit[0].strip("已 .!").lower()[:6] not in command.lower():
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


def _has_recovered(failures: list[str], text: str, last_lines: list[str], command: str, is_sequence: bool) -> bool:
    """Whether the tests passed in spite of the failure, or the product was made after it."""
    if any(is_failure_count(line) for line in last_lines):
        return False
    if any(_PASSED.match(line.strip()) or "ignored)" in line or "已忽略" in line for line in last_lines):
        return True
    failed_at = text.rfind(failures[-1])
    after = [line.strip() for line in last_lines if text.rfind(line) > failed_at]
    done = [line for line in after if _DONE.search(line) and not is_negative(line) and line not in command]
    return not is_sequence and any(_PRODUCT.search(line) for line in done)


def find_complaint(text: str, command: str) -> str:
    """The line in which the shell or a program of the command says that it cannot read its input. Some unreadable
    files among many readable ones do not count."""
    lines = [line[:_LINE_CHARACTERS] for line in cut_middle(text).split("\n") if line.strip()]
    found = [line for line in lines if (hit := _COMPLAINT.match(line)) and _is_of_command(hit[1], command)]
    told = next((line for line in found if not _DENIED.search(line)), "")
    return (told or (found[0] if found and len(found) == len(lines) else "")).strip()[:200]


def _is_of_command(name: str | None, command: str) -> bool:
    return not name or name in command or _SHELL.search(name) is not None


def is_permission_denied(text: str) -> bool:
    return _DENIED.search(cut_middle(text)) is not None
