"""Judges what a program printed, by what it was run for: a command, an HTTP request, or code."""

from __future__ import annotations

import re
from collections.abc import Collection

from sojourn.templates.judge import failure_text, http_response
from sojourn.templates.judge import shell_command as shell
from sojourn.templates.judge.call import CallView
from sojourn.templates.judge.phrases import compile_chapter, load_words

_READS_FILE = ("open(", ".read(", "read_text", "read_file(", "readlines")
_SHOWS_TRACEBACK, _TRACEBACK_SIGNS = ("format_exc", "print_exc"), ('File "<', "Cell In[", "------")
_EXIT_MESSAGE = re.compile(r"(?:sys\.exit|SystemExit)\(f?(['\"])([^'\"{\n]{3,200})")
_CATCHES = ("except", "catch", "rescue")
_HTTP_CLIENTS = load_words("fields", "http_clients")
_EXCEPTION = re.compile(r"^\W{0,3}(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout)[ :(]\s?(?![\s\d])", re.MULTILINE)
_CODE = compile_chapter("code", re.MULTILINE)
_RETURN_CODE = re.compile(r"\s*(?:[A-Za-z_ ]{0,20}[ :=]+|(?:返回|退出)码\s?[:：]?\s?)?(-?\d{1,10})\s+\S")
_STATUS = re.compile(r"""^(?:\D{0,24}?\s)?([45]\d\d)[ :]+[\[{<"'A-Z]|<Response \[([45]\d\d)\]>|HTTP Error ([45]\d\d)""")
_PYTHON_WORDS = re.compile(r"'|\b(?:None|True|False)\b")  # a dictionary as Python prints it
_JSON_WORDS = {"'": '"', "None": "null", "True": "true", "False": "false"}
_NUMBER = re.compile(r"(?<![\w.])[1-9]\d*(?:\.\d+)?(?![\w.])")
_SENDS = re.compile(r"(?:-X|--request)\s*['\"]?(?:POST|PUT|PATCH|DELETE)|\s(?:-d|--data\S*|-F|--form|-T|--json)\b")
_SAVES = re.compile(r"\s(?:-[a-zA-Z]*[oOq]\b|--output|--remote-name)|[|>;&]|\bwget\b")
_CLIENT_NOISE = re.compile(r"(?:(?:curl: |Warning: |\s*%|\s*Dload|\s*\d+ +\d|--:).*\n|\s*\n)+")
_LAST_STATUS = re.compile(r"(?:^|\s)(000|[1-5]\d\d)\s*$")
_SHORT_CHARACTERS = 300


def find_failure(call: CallView, output: str) -> str:
    """Why a program that ended normally did not do its work."""
    if call.kind == "execute_code":
        return _judge_code(call.command, output)
    command = shell.unwrap_remote(call.command)
    if failure_text.is_own_answer(output, command):
        return ""
    if shell.fetches(command):
        return _judge_fetch(call, command, output)
    if shell.only_reads(command):
        return _quote(failure_text.find_complaint(output, command))
    return _judge_command(command, output)


def _judge_command(command: str, output: str) -> str:
    reason = failure_text.find_failure(output, command)
    if not reason and len(output) <= _SHORT_CHARACTERS:
        last = _get_last_line(output)
        is_denied = failure_text.MESSAGE["negation"].search(last) and not failure_text.PROGRAM["harmless"].search(last)
        reason = last if is_denied else ""
    return _quote(reason)


def _judge_code(code: str, output: str) -> str:
    text = failure_text.cut_middle(output)
    is_wanted = _contains(code, _SHOWS_TRACEBACK)
    if not is_wanted and _contains(text, _TRACEBACK_SIGNS) and (hit := _CODE["uncaught"].search(text)):
        return _quote(_get_last_line(output) if "Error" in output[-400:] else hit[0])
    last = _get_last_line(output)
    if "xit(" in code and any(last.startswith(hit[2]) for hit in _EXIT_MESSAGE.finditer(code)):
        return _quote(last)
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
    is_denied = failure_text.NEGATIVE.search(last) or failure_text.PROGRAM["harmless"].search(last)
    made_value = _NUMBER.search(last) and not is_denied
    return "" if made_value or _CODE["expected"].search(text) else reason[:200]


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
    if http_response.HTTP["asks_status"].search(command):
        shows_body = ("-w" in command or "--write-out" in command) and "/dev/null" not in command
        return _judge_probe(call, command, output, probes=not sends and not shows_body)
    if not output.strip() and not sends and not _SAVES.search(command):
        return "no answer came"
    status, body = http_response.split_response(output)
    if status and (reason := http_response.explain_status(status, call.about, probes=sends and status < 400)):
        return reason
    if http_response.is_expected(0, str(call.arguments().get("description") or "")):
        return ""
    noise = _CLIENT_NOISE.match(body, 0, 2_000)
    body = body[noise.end() if noise else 0 :].strip() or body.strip()
    reason = http_response.find_failure(body, writes=sends, asked=command)
    if body.startswith(("<", "{", "[")):
        return reason
    return _judge_command(command, output) or ("" if "|" in command else reason)


def _judge_probe(call: CallView, command: str, output: str, *, probes: bool) -> str:
    """Any status is an answer to a call that asks for the status; a write must succeed."""
    if reason := failure_text.find_complaint(output, command):
        return _quote(reason)
    hit = _LAST_STATUS.search(output)
    status = int(hit[1]) if hit else http_response.split_response(output)[0] or 200
    return http_response.explain_status(status or 600, call.about, probes=probes)


def _get_last_line(text: str) -> str:
    return text.rstrip()[-400:].rpartition("\n")[2].strip()


def _quote(line: str) -> str:
    return f"it says: {http_response.shorten(line)}" if line.strip() else ""
