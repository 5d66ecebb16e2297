"""Did a call work? Judged from what came back, never assumed.

First what the result says of itself (flags, error fields, exit codes, HTTP statuses), then, where a program's words
are all there is, the lines that failing programs write. What was only *read* is never held against the reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import NamedTuple

from sojourn.core.messages import Json
from sojourn.templates import shells, signs, tools
from sojourn.templates.exchanges import json_of

VERSION = 1  # grows when verdicts change: what was mined before is then read again

_BAD_STATUS = frozenset((
    "error", "failed", "failure", "blocked", "denied", "rejected", "timeout", "timed_out", "cancelled", "canceled",
    "interrupted", "aborted", "approval_required", "needs_approval", "refused", "unavailable",
))  # fmt: skip
_CODES = ("exit_code", "exitCode", "returncode", "return_code")
_STATUSES = ("status_code", "statusCode", "http_status", "status")
_OUTPUTS = ("output", "stdout", "stderr", "aggregated_output")
_FLAGS = frozenset({"success", "ok", "isError", "is_error", "bot_detection", "status"})
_PARTS = frozenset({"title", "lint", "results"})
_TELLING = frozenset((*_FLAGS, *_PARTS, *_CODES, *_STATUSES, *_OUTPUTS, "error", "errors", "metadata"))
_CODE_LINE = re.compile(r"\s*(?:.{0,80}\n){0,3}?(?:Exit code:? |Process exited with code )(-?\d+)")
_LOOKS = frozenset({"read_file", "search_files", "web_search"})  # what they bring is somebody else's words
_READS_IN_CODE = re.compile(r"open\(|\.read\(|read_text|read_file\(|readlines")
_RUNS_IN_CODE = re.compile(r"subprocess|os\.system|os\.popen|\brun\(|terminal\(|Popen")


Arguments = Callable[[], Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call worked, and what says so."""

    success: bool
    because: str = ""


WORKED = Verdict(True)


def judge(
    tool: str, arguments: Mapping[str, Json] | Arguments, result: str | None, *,
    extra: Mapping[str, Json] | None = None, effect: str | None = None,
) -> Verdict:  # fmt: skip
    """Judges one call by its result. `extra` and `effect` are what the transcript noted beside it. Arguments may be
    given as a function: most verdicts do not need them."""
    if result is None:
        return Verdict(False, "it was never answered")
    if extra and (extra.get("is_error") is True or extra.get("ok") is False):
        return Verdict(False, "the transcript marks it as an error")
    if effect == "unknown":
        return Verdict(False, "it was interrupted")
    call = _Call(tools.kind(tool), arguments if callable(arguments) else lambda: arguments)
    found = _parsed(result)
    why = _of_object(call, found) if isinstance(found, dict) else _of_text(call, result)
    return Verdict(False, why) if why else WORKED


class _Call(NamedTuple):
    kind: str
    given: Arguments  # in the words of the program that called

    @property
    def command(self) -> str:
        ours = tools.in_our_words(self.given())
        return shells.command_of(ours.get("command") or ours.get("code"))

    @property
    def is_code(self) -> bool:
        return self.kind == "execute_code"

    @property
    def method(self) -> str:
        return str(self.given().get("method", "")).upper()


def _parsed(text: str) -> Json:
    if not text[:20].lstrip().startswith("{"):
        return None
    try:
        return json_of(text)
    except (ValueError, RecursionError):
        return None


# -- results that say so themselves -------------------------------------------------


def _of_object(call: _Call, found: Mapping[str, Json]) -> str:
    """Why it failed; empty when it did not."""
    told = _TELLING.intersection(found)
    if not told.isdisjoint(_FLAGS) and (why := _flagged(found)):
        return why
    if code := _exit_code(found, told):
        return "" if _is_answer(call, found, code) else f"exit code {code}"
    if not told.isdisjoint(("error", "errors")) and (why := _error_field(found)):
        return why
    if not told.isdisjoint(_STATUSES) and (http := _http_status(found)) >= 400 and call.method != "HEAD":
        return f"HTTP status {http}"
    if not told.isdisjoint(_PARTS) and (why := _of_parts(found)):
        return why
    for name in _OUTPUTS:
        if name in told and isinstance(found[name], str) and (why := _of_output(call, found[name])):
            return why
    return ""


def _flagged(found: Mapping[str, Json]) -> str:
    if found.get("success") is False or found.get("ok") is False:
        told = next((found[name] for name in ("error", "message", "reason") if found.get(name)), "no success")
        return f"it says so: {_short(told)}"
    if found.get("isError") is True or found.get("is_error") is True:
        return "it is marked as an error"
    if found.get("bot_detection") is True:
        return "a bot check stood in the way"
    status = found.get("status")
    return f"its status is {status}" if isinstance(status, str) and status.strip().lower() in _BAD_STATUS else ""


def _exit_code(found: Mapping[str, Json], told: Set[str]) -> int:
    for name in _CODES:
        if name in told and isinstance(found[name], int):
            return int(found[name])
    inner = found["metadata"] if "metadata" in told else None
    return _exit_code(inner, inner.keys()) if isinstance(inner, dict) else 0


def _is_answer(call: _Call, found: Mapping[str, Json], code: int) -> bool:
    words = "\n".join(str(found.get(name) or "") for name in _OUTPUTS)
    return not found.get("error") and shells.is_answer(call.command, code) and not signs.complaint(words)


def _error_field(found: Mapping[str, Json]) -> str:
    value = found.get("error") or found.get("errors")
    if not value or value in ("none", "None", "null"):
        return ""
    return "it is marked as an error" if value is True else f"it names an error: {_short(value)}"


def _http_status(found: Mapping[str, Json]) -> int:
    for name in _STATUSES:
        if name in found and isinstance(found[name], int):
            return int(found[name])
    return 0


def _of_parts(found: Mapping[str, Json]) -> str:
    """What parts of a result say: the title of a page, each of several pages, the check of a written file."""
    title, lint, results = found.get("title"), found.get("lint"), found.get("results")
    if isinstance(title, str) and "url" in found and signs.error_page(title):
        return f'the page is "{_short(title)}"'
    if isinstance(lint, dict) and str(lint.get("status", "")).lower() in _BAD_STATUS:
        return f"what was written is broken: {_short(lint.get('output') or '')}"
    for one in results if isinstance(results, list) else ():
        if isinstance(one, dict) and (why := _error_field(one)):
            return why
    return ""


# -- programs' words -----------------------------------------------------------------


def _of_output(call: _Call, output: str) -> str:
    """Why a program that ended well did not do its work, if its words say so."""
    if call.is_code:
        return _of_code(call, output)
    command = call.command
    if shells.fetches(command):
        return _of_fetch(command, output)
    if shells.only_reads(command):
        return _quoted(signs.complaint(output))
    return _quoted(signs.failing_line(output))


def _of_code(call: _Call, output: str) -> str:
    failed = signs.failing_line(output)
    code = call.command if failed else ""
    return "" if _READS_IN_CODE.search(code) and not _RUNS_IN_CODE.search(code) else _quoted(failed)


def _of_fetch(command: str, output: str) -> str:
    """An answer over HTTP: its status if it shows one, its body if that is JSON, its title if it is a page."""
    if shells.asks_status(command):
        return _quoted(signs.complaint(output))
    if (status := signs.status_line(output)) >= 400:
        return f"HTTP status {status}"
    body = _parsed(output[output.find("{") :] if status and "{" in output else output)
    if isinstance(body, Mapping):
        return _of_body(body)
    if title := signs.page_title(output):
        return f'the page is "{_short(title)}"' if signs.error_page(title) else ""
    return _quoted(signs.failing_line(output))


def _of_body(body: Mapping[str, Json]) -> str:
    if body.get("success") is False or body.get("ok") is False:
        return f"the answer says so: {_short(body.get('message') or body.get('error') or 'no success')}"
    if why := _error_field(body):
        return why
    if (status := _http_status(body)) >= 400:
        return f"the answer has status {status}"
    code = body.get("code")
    has_words = any(isinstance(body.get(name), str) for name in ("msg", "message"))
    if has_words and isinstance(code, int) and code not in (0, 200, 201, 204) and not body.get("data"):
        return f"the answer has code {code}"
    return ""


def _of_text(call: _Call, text: str) -> str:
    """A result that is plain words: an exit code if it names one, else how it opens."""
    if hit := _CODE_LINE.match(text):
        code, rest = int(hit[1]), text[hit.end() :]
        if code:
            return "" if shells.is_answer(call.command, code) and not signs.complaint(rest) else f"exit code {code}"
        return _of_output(call, rest)
    if why := signs.refusal(text):
        return _quoted(why)
    if call.kind in ("terminal", "execute_code"):
        return _of_output(call, text)
    first = text.strip().partition("\n")[0][:300]
    if call.kind in _LOOKS and not first.lower().startswith("error"):
        return ""
    return _quoted(signs.failing_line(first))


def _quoted(line: str) -> str:
    return f"it says: {_short(line)}" if line else ""


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:119] + "…"
