"""Finds the texts that report failure, in English and Chinese: what programs print, and what tools answer.

An exit code of 0 is often that of a pipe's last command, so the output of a program is read too; the last lines decide.
Prose may mention errors: only the shapes of lines that failing programs print count. A tool that reads returns other
people's text, so only a short answer can be its own message. A tool that writes answers in its own words.
"""

from __future__ import annotations

import re

from sojourn.templates.judge.phrases import TABLES, compile_chapter

PROGRAM = compile_chapter("program", opening=r"[ \t│›>|•]{0,8}")
MESSAGE = compile_chapter("message", re.IGNORECASE, refusal=r"\s*\W{0,2}", error=r"\W{0,3}", done=r"\s*")
_HINTS = tuple(TABLES["program"]["hints"].split("|"))
_SUMMARY = re.compile(r"^\s*(?:FAIL(?:ED)?|not ok)\b(?!\s?[:=]?\s*0\b)")
_SHELL = re.compile(r"(?:^|/)(?:(?:ba|z|da|k|fi|)sh|sudo|gzip|tar|xargs)$")
DENIED = re.compile(r"(?:Permission denied|权限不[够足]|Operation not permitted)\s*$", re.MULTILINE)
_VERBS, _AFTER, _BEFORE = (TABLES["program"][name] for name in ("done_verbs", "count_after", "count_before"))
_DONE = re.compile(_VERBS, re.IGNORECASE)
_DONE_COUNT = re.compile(rf"(?:{_VERBS}){_AFTER}|{_BEFORE}(?:{_VERBS})", re.IGNORECASE)
NEGATIVE = re.compile(r"(?i:\bnot\b|\bno\b|n't\b|\bfail|\berror|\b0 )|未|不|没|失败|错误|[^\d]0 ?[个条行份]")
_NOTHING_TO_COMMIT = re.compile(r"nothing (?:added )?to commit|无文件要提交|没有[^\n]{0,12}提交")
_EXIT_ECHO = re.compile(r"(?:\w[\w ]{0,30})?\W{0,3}[1-9]\d{0,2}")  # what `echo $?` prints
_ASKS_STATUS = re.compile(r"\$\?|\$\{?(?:PIPESTATUS|pipestatus|LASTEXITCODE)|%ERRORLEVEL%")
_FALLBACK = re.compile(r"\|\|\s*echo\s+(['\"]?)([^'\"|;&]{1,80})\1\s*$")
_NAMES = re.compile(r"[\"'“「`][^\"'”」`\n]{0,200}[\"'”」`]|\S*[/\\]\S*|\b\w+\.[a-z]{1,4}\b")
_PART = re.compile(r"(?<![\w/.:-])(\d+)\s?(?:/|／|of|out of)\s?(\d+)\b(?![/.:]\d)")
_MESSAGE_CHARACTERS, _MESSAGE_LINES = 600, 4
_END_CHARACTERS = 800  # of each end of the output: a failure is reported first or last
_LINE_CHARACTERS, _LAST_LINES = 300, 8


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
    reported = [line for line in found if PROGRAM["opening"].match(line) or PROGRAM["anywhere"].search(line)]
    failures = [line for line in reported if not PROGRAM["harmless"].search(line)]
    return failures or [line for line in found if _is_failure_count(line)]


def _is_failure_count(line: str) -> bool:
    """Whether it counts failures, as the summary of a test run does."""
    return bool(_SUMMARY.match(line) or PROGRAM["count"].search(line))


def _find_bad_end(lines: list[str], command: str) -> str:
    """The line in which a program says that it stopped, gave up, or did a part."""
    last = lines[-1].strip()
    hit = PROGRAM["gave_up"].search(last)
    if hit and not PROGRAM["harmless"].search(last) and hit[0].strip("已 .!").lower()[:6] not in command.lower():
        return last
    if PROGRAM["failed_attempt"].search(last) and "retry" not in last and "重试" not in last:
        return last
    if reason := _find_undone(lines[-3:]):
        return reason
    fallback = _FALLBACK.search(command[-200:]) if "||" in command else None
    is_status = _ASKS_STATUS.search(command) and _EXIT_ECHO.fullmatch(last)
    if (is_status or (fallback and last == fallback[2].strip())) and not PROGRAM["checks"].search(command):
        return last
    return next((line for line in lines if "commit" in command and _NOTHING_TO_COMMIT.match(line)), "")


def _find_undone(lines: list[str]) -> str:
    """The last line that counts what was done, if that is less than all, or nothing."""
    for line in (line for line in reversed(lines) if _DONE.search(line)):
        counts = [int(one[:18]) for found in _DONE_COUNT.findall(line) for one in found if one]
        if part := _PART.search(line):
            return line.strip()[:200] if int(part[1][:18]) < int(part[2][:18]) else ""
        if counts:
            return "" if any(counts) or PROGRAM["up_to_date"].search(line) else line.strip()[:200]
    return ""


def is_own_answer(output: str, command: str) -> bool:
    """Whether a check answered in the words of its command: `which x || echo "no x"`, `kill $P; echo "status $?"`."""
    words = output.strip().rstrip("0123456789 ")
    return bool(words) and words in command and "echo" in command and PROGRAM["checks"].search(command) is not None


def _has_passed(last_lines: list[str]) -> bool:
    """Whether the tests passed in spite of a failure."""
    if any(_is_failure_count(line) for line in last_lines):
        return False
    return any(PROGRAM["passed"].match(line.strip()) or "ignored)" in line or "已忽略" in line for line in last_lines)


def find_complaint(text: str, command: str) -> str:
    """The line in which the shell or a program of the command says that it cannot read its input. Some unreadable
    files among many readable ones do not count."""
    lines = [line[:_LINE_CHARACTERS] for line in cut_middle(text).split("\n") if line.strip()]
    complaints = [(line, hit[1]) for line in lines if (hit := PROGRAM["complaint"].match(line))]
    found = [line for line, name in complaints if not name or name in command or _SHELL.search(name)]
    line = next((line for line in found if not DENIED.search(line)), "")
    return (line or (found[0] if found and len(found) == len(lines) else "")).strip()[:200]


def find_refusal(text: str) -> str:
    """The first line, if a person, a rule, a sandbox or a lost connection kept the tool from running."""
    first = _get_first_line(text)
    is_refusal = MESSAGE["refusal"].match(text[:_MESSAGE_CHARACTERS]) and not PROGRAM["harmless"].search(first)
    return first if is_refusal else ""


def find_read_failure(text: str) -> str:
    """The message in place of a file, a listing, a snapshot or search results; finding nothing is an answer."""
    words = text.strip()
    if _is_long(words) or MESSAGE["content"].match(words) or MESSAGE["no_results"].search(words):
        return ""
    is_failure = MESSAGE["refusal"].match(words) or MESSAGE["error"].match(words) or MESSAGE["not_read"].search(words)
    return _get_first_line(words) if is_failure else ""


def find_fetch_failure(text: str) -> str:
    """The message of a tool that did not bring a page."""
    words = text.strip()
    if _is_long(words) or words.startswith(("#", "<", "{")):
        return ""
    first = _get_first_line(words)
    return first if MESSAGE["refusal"].match(words) or MESSAGE["error"].match(words) else _find_failure_line(first)


def find_write_failure(text: str) -> str:
    """The message that something was not done, or only a part of it."""
    words = "\n".join(text[:2000].strip().split("\n")[:_MESSAGE_LINES])[:_MESSAGE_CHARACTERS]
    bare, first, part = _NAMES.sub("…", words), _get_first_line(words), _PART.search(words)
    is_denied = MESSAGE["not_written"].search(bare) or MESSAGE["negation"].search(bare)
    is_partial = part is not None and int(part[1][:18]) < int(part[2][:18])
    if (is_denied or MESSAGE["error"].match(bare)) and (is_partial or not MESSAGE["done"].match(words)):
        return first
    return _find_failure_line(_NAMES.sub("…", first))


def _is_long(words: str) -> bool:
    return len(words) > _MESSAGE_CHARACTERS or words.count("\n") >= _MESSAGE_LINES


def _get_first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _find_failure_line(text: str) -> str:
    return next((line.strip()[:200] for line in _list_failure_lines(cut_middle(text))), "")
