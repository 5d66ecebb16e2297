"""Judges what a program printed, by what it was run for: a command, an HTTP request, or code."""

from __future__ import annotations

import re
from collections.abc import Collection

from sojourn.templates.judge import failure_text, http_response
from sojourn.templates.judge import shell_command as shell
from sojourn.templates.judge.call import CallView
from sojourn.templates.judge.phrases import compile_table, load_words

_READS_FILE = ("open(", ".read(", "read_text", "read_file(", "readlines")
_CATCHES = ("except", "catch", "rescue")
_HTTP_CLIENTS = load_words("fields", "http_clients")
_UNCAUGHT = compile_table("code", "uncaught", re.MULTILINE)
_EXCEPTION = re.compile(r"^\W{0,3}(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout)[ :(]\s?(?![\s\d])", re.MULTILINE)
_EXPECTED = compile_table("code", "expected")
_RETURN_CODE = re.compile(r"\s*(?:[A-Za-z_ ]{0,20}[ :=]+|(?:返回|退出)码\s?[:：]?\s?)?(-?\d{1,10})\s+\S")
_STATUS = re.compile(r"""^(?:\D{0,24}?\s)?([45]\d\d)[ :]+[\[{<"'A-Z]|<Response \[([45]\d\d)\]>|HTTP Error ([45]\d\d)""")
_PYTHON_WORDS = re.compile(r"'|\b(?:None|True|False)\b")  # a dictionary as Python prints it
_JSON_WORDS = {"'": '"', "None": "null", "True": "true", "False": "false"}
_NUMBER = re.compile(r"(?<![\w.])[1-9]\d*(?:\.\d+)?(?![\w.])")
_SENDS = re.compile(r"(?:-X|--request)\s*['\"]?(?:POST|PUT|PATCH|DELETE)|\s(?:-d|--data\S*|-F|--form|-T|--json)\b")
_SHOWS_STATUS = re.compile(
    r"(?:^|\s)(?:-[a-zA-Z]*I\b|--head\b|-w\b|--write-out\b|--spider\b)|\bhttps?\s+(?:--\S+\s+)*HEAD\b|-X\s*HEAD\b"
)
_CLIENT_NOISE = re.compile(r"(?:(?:curl: |Warning: |\s*%|\s*Dload|\s*\d+ +\d|--:).*\n|\s*\n)+")
_LAST_STATUS = re.compile(r"(?:^|\s)(000|[1-5]\d\d)\s*$")
_SHORT_CHARACTERS = 300


def find_failure(call: CallView, output: str) -> str:
    """Why a program that ended normally did not do its work."""
    if call.kind == "execute_code":
        return _judge_code(call.command, output)
    command = shell.unwrap_remote(call.command)
    if shell.fetches(command):
        return _judge_fetch(call, command, output)
    if shell.only_reads(command):
        return _quote(failure_text.find_complaint(output, command))
    return _judge_command(command, output)


def _judge_command(command: str, output: str) -> str:
    reason = failure_text.find_failure(output, command)
    if not reason and len(output) <= _SHORT_CHARACTERS:
        last = _get_last_line(output)
        reason = last if failure_text.NEGATION.search(last) and not failure_text.HARMLESS.search(last) else ""
    return _quote(reason)


def _judge_code(code: str, output: str) -> str:
    text = failure_text.cut_middle(output)
    if ('File "<' in text or "Cell In[" in text or "------" in text) and (hit := _UNCAUGHT.search(text)):
        return _quote(_get_last_line(output) if "Error" in output[-400:] else hit[0])
    if reason := _judge_response(code, output):
        return reason
    if "returncode" in code and (hit := _RETURN_CODE.match(output)) and int(hit[1]):
        return f"what it ran returned {hit[1]}"
    return _quote(_find_handled(code, text))


def _contains(code: str, words: Collection[str]) -> bool:
    return any(word in code for word in words)


def _find_handled(code: str, text: str) -> str:
    """A failure that the code printed and passed over."""
    reason = failure_text.find_failure(text, code)
    if not _contains(code, _CATCHES):
        return "" if _contains(code, _READS_FILE) else reason
    if not reason and (hit := _EXCEPTION.search(text)):
        reason = text[hit.start() :].strip().partition("\n")[0]
    if not reason:
        return ""
    last = _get_last_line(text[text.rfind(reason) + len(reason) :])
    made_value = (
        _NUMBER.search(last) and not failure_text.NEGATIVE.search(last) and not failure_text.HARMLESS.search(last)
    )
    return "" if made_value or _EXPECTED.search(text) else reason[:200]


def _judge_response(code: str, output: str) -> str:
    """The HTTP response that code printed."""
    if not (output.startswith("<Response [") or _contains(code, _HTTP_CLIENTS)):
        return ""
    first = output[:4000].strip().partition("\n")[0][:2000]
    if hit := _STATUS.search(first):
        status = int(next(one for one in hit.groups() if one))
        return "" if http_response.is_expected(status, code) else f"HTTP status {status}"
    at = first.find("{")
    body = _PYTHON_WORDS.sub(lambda hit: _JSON_WORDS[hit[0]], first[at:]) if 0 <= at <= 12 else ""
    return http_response.find_failure(body, writes=".post(" in code or ".put(" in code)


def _judge_fetch(call: CallView, command: str, output: str) -> str:
    """An HTTP response: by its status if it is shown, else by its body."""
    sends = bool(_SENDS.search(command)) and not ("graphql" in command and "mutation" not in command)
    if _SHOWS_STATUS.search(command):
        return _judge_probe(call, command, output, probes=not sends)
    body = output
    if status := http_response.parse_status_line(output):
        if reason := http_response.explain_status(status, call.about):
            return reason
        body = re.split(r"\r?\n\r?\n", output)[-1]
    if http_response.is_expected(0, str(call.arguments().get("description") or "")):
        return ""
    body = _CLIENT_NOISE.sub("", body.lstrip("\n"), count=1).strip() or body.strip()
    reason = http_response.find_failure(body, writes=sends)
    if body.startswith(("<", "{", "[")):
        return reason
    return _judge_command(command, output) or ("" if "|" in command else reason)


def _judge_probe(call: CallView, command: str, output: str, *, probes: bool) -> str:
    """404 is a valid result for a status check, but a failure for writes."""
    if reason := failure_text.find_complaint(output, command):
        return _quote(reason)
    hit = _LAST_STATUS.search(output)
    status = int(hit[1]) if hit else http_response.parse_status_line(output) or 200
    return http_response.explain_status(status or 599, call.about, probes=probes)


def _get_last_line(text: str) -> str:
    return text.rstrip()[-400:].rpartition("\n")[2].strip()


def _quote(line: str) -> str:
    return f"it says: {http_response.shorten(line)}" if line.strip() else ""
