"""What a result that is an object says of itself. Which questions are worth asking depends on the names of its fields,
and a history has few kinds of objects: that is found out once for each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sojourn.templates import answers, products, programs, shells, signs
from sojourn.templates.calls import Call
from sojourn.templates.products import Found

Question = Callable[[Call, Found], str]

_BAD_STATUS = frozenset(
    (
        "error",
        "failed",
        "failure",
        "blocked",
        "denied",
        "rejected",
        "timeout",
        "timed_out",
        "cancelled",
        "canceled",
        "interrupted",
        "aborted",
        "approval_required",
        "needs_approval",
        "refused",
        "unavailable",
        "fail",
        "pending_approval",
        "disabled",
        "not_found",
    )
)
_FLAGS = {
    "isError": "it is marked as an error",
    "is_error": "it is marked as an error",
    "bot_detection": "a bot check stood in the way",
    "timed_out": "it was cut short",
    "interrupted": "it was cut short",
    "sudo_auth_failed": "it was not allowed to act as another user",
}
_CODES = ("exit_code", "exitCode", "returncode", "return_code")
_STATUSES = frozenset(("status_code", "statusCode", "http_status", "status"))
_BODIES = ("body", "data", "response", "json", "text", "content")
_OUTPUTS = ("output", "stderr", "stdout", "aggregated_output")
_RUN_FIELDS = frozenset((*_OUTPUTS, *_CODES, "metadata", "tool_calls_made", "session_id"))
_CACHED = 40  # fields: objects with more are not of a kind


def is_of_tool(call: Call, found: Found) -> bool:
    """Whether an object is the own result of a tool that runs programs, not what one of them printed."""
    if not _RUN_FIELDS.isdisjoint(found):
        return True
    command = "" if call.is_code else call.command
    return not (shells.fetches(command) or shells.only_reads(command))


def failure(call: Call, found: Found) -> str:
    """Why it failed; empty when it did not."""
    names = tuple(found)
    for question in _questions(names, call.manner) if len(names) <= _CACHED else _all_questions(names, call.manner):
        if why := question(call, found):
            return why
    return ""


@lru_cache(maxsize=2048)
def _questions(names: tuple[str, ...], manner: str) -> tuple[Question, ...]:
    return _all_questions(names, manner)


def _all_questions(names: tuple[str, ...], manner: str) -> tuple[Question, ...]:
    held = frozenset(names)
    is_page, is_web = manner == "page", manner in ("page", "look", "search")
    asked: tuple[tuple[Question, bool], ...] = (
        (_success, "success" in held or "ok" in held),
        (_flags, not held.isdisjoint(_FLAGS)),
        (_status, "status" in held),
        (_exit_code, not held.isdisjoint((*_CODES, "metadata"))),
        (products.error, not held.isdisjoint(("error", "errors"))),
        (_answer, _may_be_answer(held, manner)),
        (_lint, "lint" in held),
        (products.page, is_page and not held.isdisjoint((*products.TEXTS, "title", "element_count"))),
        (products.title, not is_page and {"title", "url"} <= held),
        (products.warned, "bot_detection_warning" in held),
        (products.most_results, is_web and "results" in held),
        (products.blocks, ("content" in held and manner != "look") or "isError" in held),
        (products.nothing_shown, manner in ("look", "search") and "is_binary" in held),
        (products.no_snapshot, manner == "look" and "snapshot" in held),
        (products.cells, "outputs" in held),
        (_output, not held.isdisjoint(_OUTPUTS)),
        (products.said, manner != "run" and not held.isdisjoint((*products.SAYINGS, *products.ASIDES))),
        (products.part_done, manner == "do" and answers.counts(held)),
    )
    return tuple(question for question, is_worth_it in asked if is_worth_it)


def _may_be_answer(held: frozenset[str], manner: str) -> bool:
    has_body = not held.isdisjoint(_BODIES)
    if "status" in held and (has_body or "url" in held or len(held) == 1):
        return True
    return (manner == "ask" and has_body) or not held.isdisjoint(_STATUSES - {"status"})


def _success(call: Call, found: Found) -> str:
    if found.get("success") is not False and found.get("ok") is not False:
        return ""
    told = next((found[name] for name in ("error", "message", "reason") if found.get(name)), "no success")
    return f"it says so: {products.short(told)}"


def _flags(call: Call, found: Found) -> str:
    for name, meaning in _FLAGS.items():
        if found.get(name) is True:
            return meaning
    return ""


def _status(call: Call, found: Found) -> str:
    status = found["status"]
    if not isinstance(status, str) or status.strip().lower() not in _BAD_STATUS:
        return ""
    is_state = call.manner in ("look", "search", "ask") and not found.get("error") and not answers.is_bare(found)
    return "" if is_state else f"its status is {status}"


def _exit_code(call: Call, found: Found) -> str:
    code = code_in(found)
    if not code:
        return ""
    words = "\n".join(str(found.get(name) or "") for name in _OUTPUTS).strip()
    if "not an error" in str(found.get("exit_code_meaning") or "") and not signs.complaint(words, call.command):
        return ""
    is_fine = not found.get("error") and is_answer(call, code, words)
    return "" if is_fine else f"exit code {code}"


def is_answer(call: Call, code: int, words: str) -> bool:
    """Whether a program said no, or read all but a part, and did not fail."""
    command = call.command
    if code in shells.STOPPED and call.has_limit and shells.is_endless(command):
        return True
    if shells.is_answer(command, code, silent=not words):
        return not signs.complaint(words, command)
    if not words or code not in (1, 2) or not shells.reads_many(command) or signs.complaint(words, command):
        return False
    return signs.is_not_allowed_all(words) or "2>/dev/null" in command


def code_in(found: Found) -> int:
    code = found.get("exit_code")
    if isinstance(code, int):
        return code
    for name in _CODES:
        if isinstance(value := found.get(name), int):
            return int(value)
    inner = found.get("metadata")
    return code_in(inner) if isinstance(inner, dict) else 0


def _answer(call: Call, found: Found) -> str:
    """An answer over HTTP, with its status and its body."""
    status = 0
    for name in _STATUSES:
        if isinstance(value := found.get(name), int):
            status = int(value)
            break
    if not status and call.manner != "ask":
        return ""
    if status >= 300 and (why := answers.refused(status, call.about, looks=call.method == "HEAD", writes=call.writes)):
        return why
    if status >= 300:
        return ""
    body = next((found[name] for name in _BODIES if found.get(name)), None)
    return answers.body(body, writes=call.writes)


def _lint(call: Call, found: Found) -> str:
    lint = found["lint"]
    if call.kind == "write_file" and isinstance(lint, dict) and str(lint.get("status", "")).lower() in _BAD_STATUS:
        return f"what was written is broken: {products.short(lint.get('output') or '')}"
    return ""


def _output(call: Call, found: Found) -> str:
    only = found.get("output")
    if isinstance(only, str) and only:
        return programs.failure(call, only)
    parts = [value for name in _OUTPUTS if isinstance(value := found.get(name), str) and value]
    return programs.failure(call, "\n".join(parts)) if parts else ""
