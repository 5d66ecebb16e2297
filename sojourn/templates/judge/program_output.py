"""Judges what a program printed, by what it was run for: a command, an HTTP request, or code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.templates.judge import failure_text, http_response, tool_message
from sojourn.templates.judge import shell_command as shell
from sojourn.templates.judge.call import Call
from sojourn.templates.judge.phrases import compile_table, words_of

_READS_FILE = ("open(", ".read(", "read_text", "read_file(", "readlines")
_RUNS_PROGRAM = ("subprocess", "os.system", "os.popen", "run(", "terminal(", "Popen")
_CATCHES = ("except", "catch", "rescue")
_HTTP_CLIENTS = words_of("requests. httpx. urllib aiohttp urlopen fetch( axios .status_code http.client")
_UNCAUGHT = compile_table("code", "uncaught", re.MULTILINE)
_EXCEPTION = re.compile(r"^\W{0,3}(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout)[ :(]\s?(?![\s\d])", re.MULTILINE)
_EXPECTED = compile_table("code", "expected")
_RETURN_CODE = re.compile(r"\s*(?:[A-Za-z_ ]{0,20}[ :=]+|(?:返回|退出)码\s?[:：]?\s?)?(-?\d{1,10})\s+\S")
_STATUS = re.compile(r"""^(?:\D{0,24}?\s)?([45]\d\d)[ :]+[\[{<"'A-Z]|<Response \[([45]\d\d)\]>|HTTP Error ([45]\d\d)""")
_PYTHON_WORDS = re.compile(r"'|\b(?:None|True|False)\b")  # a dictionary as Python prints it
_JSON_WORDS = {"'": '"', "None": "null", "True": "true", "False": "false"}
_NUMBER = re.compile(r"(?<![\w.])[1-9]\d*(?:\.\d+)?(?![\w.])")
_SENDS = re.compile(r"(?:-X|--request)\s*['\"]?(?:POST|PUT|PATCH|DELETE)|\s(?:-d|--data\S*|-F|--form|-T|--json)\b")
_SAVES = re.compile(
    r"\s(?:-o|--output)\s+(?!/dev/null|NUL\b)\S|\s-O\b|--remote-name|>\s*\S|\bwget\b(?!.*-\w*O\s?-(?:\s|$))"
)
_CLIENT_NOISE = re.compile(r"(?:(?:curl: |Warning: |\s*%|\s*Dload|\s*\d+ +\d|--:).*\n|\s*\n)+")
_URL = re.compile(r"https?://[^\s'\"]+")
_STATUS_AFTER_BODY = re.compile(r"[^\s\d]\s*\n\s*([1-5]\d\d)\s*$")
_LAST_STATUS = re.compile(r"(?:^|\s)(000|[1-5]\d\d)\s*$")
_SHORT_CHARACTERS = 300


def find_failure(call: Call, output: str) -> str:
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
    reason = failure_text.find_failure(output, command, is_sequence=shell.is_sequence(command))
    if not reason and len(output) <= _SHORT_CHARACTERS and shell.runs_script(command):
        last = _last_line(output)
        reason = last if tool_message.is_negated(last) and not failure_text.is_harmless(last) else ""
    return _quote(reason)


def _judge_code(code: str, output: str) -> str:
    text = failure_text.cut_middle(output)
    if ('File "<' in text or "Cell In[" in text or "------" in text) and (hit := _UNCAUGHT.search(text)):
        return _quote(_last_line(output) if "Error" in output[-400:] else hit[0])
    if reason := _judge_response(code, output):
        return reason
    if "returncode" in code and (hit := _RETURN_CODE.match(output)) and int(hit[1]):
        return f"what it ran returned {hit[1]}"
    return _quote(_find_handled(code, text))


def _contains(code: str, words: Sequence[str]) -> bool:
    return any(word in code for word in words)


def _find_handled(code: str, text: str) -> str:
    """A failure that the code printed and passed over."""
    reason = failure_text.find_failure(text, code)
    if not _contains(code, _CATCHES):
        return "" if _contains(code, _READS_FILE) and not _contains(code, _RUNS_PROGRAM) else reason
    if not reason and (hit := _EXCEPTION.search(text)):
        reason = text[hit.start() :].strip().partition("\n")[0]
    if not reason:
        return ""
    last = _last_line(text[text.rfind(reason) + len(reason) :])
    made_value = _NUMBER.search(last) and not failure_text.is_negative(last) and not failure_text.is_harmless(last)
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


def _judge_fetch(call: Call, command: str, output: str) -> str:
    """An HTTP response: by its status if it is shown, else by its body."""
    sends = bool(_SENDS.search(command)) and not ("graphql" in command and "mutation" not in command)
    saves = bool(_SAVES.search(command))
    if shell.asks_for_status(command):
        return _judge_probe(call, command, output, probes=not sends and not saves)
    body = output
    if status := http_response.parse_status_line(output):
        if reason := http_response.explain_status(status, call.about, writes=sends):
            return reason
        body = re.split(r"\r?\n\r?\n", output)[-1]
    if http_response.is_expected(0, call.purpose):
        return ""
    body = _CLIENT_NOISE.sub("", body.lstrip("\n"), count=1).strip() or body.strip()
    hit = _URL.search(command)
    reason = http_response.find_failure(body, writes=sends, asked=hit[0] if hit else "")
    if body.startswith(("<", "{", "[")):
        return reason
    return _judge_command(command, output) or ("" if saves or "|" in command else reason)


def _judge_probe(call: Call, command: str, output: str, *, probes: bool) -> str:
    """404 is a valid result for a status check, but a failure for writes and downloads."""
    if reason := failure_text.find_complaint(output, command):
        return _quote(reason)
    after_body = _STATUS_AFTER_BODY.search(output)
    hit = after_body or _LAST_STATUS.search(output)
    status = int(hit[1]) if hit else http_response.parse_status_line(output) or 200
    probes = probes and not after_body
    return http_response.explain_status(status or 599, call.about, probes=probes, writes=True)


def _last_line(text: str) -> str:
    return text.rstrip()[-400:].rpartition("\n")[2].strip()


def _quote(line: str) -> str:
    return f"it says: {http_response.shorten(line)}" if line.strip() else ""
