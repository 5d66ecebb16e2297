"""Judges results that are JSON objects: flags, error fields, exit codes, responses, pages and messages."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.core.messages import Json
from sojourn.templates.judge import failure_text, http_response, program_output
from sojourn.templates.judge import shell_command as shell
from sojourn.templates.judge.call import EXIT_CODES, CallView, find_exit_code, is_exit_answer
from sojourn.templates.judge.http_response import shorten
from sojourn.templates.judge.phrases import load_words

Found = Mapping[str, Json]

_BAD_STATUS = load_words("fields", "bad_status")
_ERROR_FLAGS = ("isError", "is_error", "bot_detection", "timed_out", "interrupted", "sudo_auth_failed")
_STATUS_FIELDS = ("status_code", "statusCode", "http_status", "status")
_BODIES = ("body", "data", "response", "json", "text", "content")
_OUTPUTS = ("output", "stderr", "stdout", "aggregated_output")
_TOOL_FIELDS = frozenset((*_OUTPUTS, *EXIT_CODES, "metadata", "tool_calls_made", "session_id"))
_PAGE_TEXTS = ("content", "snapshot", "text", "markdown", "html", "body")
_MESSAGES = ("note", "message", "detail", "reason", "notice", "msg")
_REMARKS = ("warning", "info", "hint", "description")  # they count if the payload is empty
_PAYLOADS = load_words("fields", "payloads")


def is_tool_result(call: CallView, found: Found) -> bool:
    """Whether an object is the result of the tool that runs programs, and not what a program printed."""
    if not _TOOL_FIELDS.isdisjoint(found):
        return True
    command = "" if call.kind == "execute_code" else call.command
    return not (shell.fetches(command) or shell.only_reads(command))


def find_failure(call: CallView, found: Found) -> str:
    """Why a call failed; empty if it did not."""
    return (
        _check_flags(call, found)
        or _check_exit_code(call, found)
        or _check_error(call, found)
        or _check_response(call, found)
        or _check_page(call, found)
        or _check_results(call, found)
        or _check_output(call, found)
        or _check_message(call, found)
    )


def _check_flags(call: CallView, found: Found) -> str:
    if found.get("success") is False or found.get("ok") is False:
        reason = next((found[name] for name in ("error", "message", "reason") if found.get(name)), "no success")
        return f"it says so: {shorten(reason)}"
    if flag := next((name for name in _ERROR_FLAGS if found.get(name) is True), ""):
        return f"it is marked as {flag}"
    status = found.get("status")
    if isinstance(status, str) and status.strip().lower() in _BAD_STATUS:
        is_record = call.category in ("look", "search", "ask") and not found.get("error")
        return "" if is_record and not http_response.is_envelope(found) else f"its status is {status}"
    lint = found.get("lint")
    is_broken = isinstance(lint, dict) and str(lint.get("status", "")).lower() in _BAD_STATUS
    return "the file that was written is broken" if is_broken and call.kind == "write_file" else ""


def _check_exit_code(call: CallView, found: Found) -> str:
    code = find_exit_code(found)
    if not code:
        return ""
    output = "\n".join(str(found.get(name) or "") for name in _OUTPUTS).strip()
    is_answer = "not an error" in str(found.get("exit_code_meaning") or "") or is_exit_answer(call, code, output)
    return "" if is_answer and not found.get("error") else f"exit code {code}"


def _check_error(call: CallView, found: Found) -> str:
    value = found.get("error") or found.get("errors")
    if not value or value in ("none", "None", "null", "无") or call.category == "relay":
        return ""
    if isinstance(value, list) and call.category in ("page", "look", "search"):
        payload = found.get("results") or found.get("content") or found.get("matches")
        if isinstance(payload, (list, str)) and len(payload) > len(value):
            return ""
    return f"it names an error: {shorten(value)}"


def _check_response(call: CallView, found: Found) -> str:
    status = next((int(one) for name in _STATUS_FIELDS if isinstance(one := found.get(name), int)), 0)
    if not status and call.category != "ask":
        return ""
    if status >= 300:
        return http_response.explain_status(status, call.about, probes=call.accepts(status))
    body = next((found[name] for name in _BODIES if found.get(name)), None)
    reason = "" if status else http_response.find_failure(found, writes=call.writes)
    return reason or http_response.find_failure(body, writes=call.writes, asked=call.url)


def _check_page(call: CallView, found: Found) -> str:
    title = str(found.get("title") or "")
    if title and http_response.PAGE["titles"].match(title) and (call.category == "page" or "url" in found):
        return f'the page is "{shorten(title)}"'
    texts = [str(found[name] or "") for name in _PAGE_TEXTS if name in found]
    if call.category != "page" or not texts:
        return ""
    landed = str(found.get("url") or "")
    return http_response.find_page_failure("\n".join(texts), title=title, asked=call.url, landed=landed)


def _check_results(call: CallView, found: Found) -> str:
    """Of many pages the greater part must be there."""
    results = found.get("results")
    if not isinstance(results, list) or call.category not in ("page", "look", "search"):
        return ""
    if not results:
        return "nothing came back" if call.category == "page" else ""
    pages = [one for one in results if isinstance(one, dict)]
    missed = [why for one in pages if (why := _check_error(call, one) or ("content" in one and _check_page(call, one)))]
    return str(missed[0]) if missed and 2 * len(missed) >= len(results) else ""


def _check_output(call: CallView, found: Found) -> str:
    parts = [value for name in _OUTPUTS if isinstance(value := found.get(name), str) and value]
    return program_output.find_failure(call, "\n".join(parts)) if parts else ""


def _check_message(call: CallView, found: Found) -> str:
    """Messages and counts next to the payload; checked if the payload is empty, and always for writes."""
    if call.category in ("ask", "run"):
        return ""
    is_missing = (found.get("is_binary") is True and not found.get("content")) or not found.get("snapshot", True)
    if is_missing and call.category in ("look", "search"):
        return "nothing was shown"
    payloads = [found[name] for name in _PAYLOADS if name in found]
    is_empty = bool(payloads) and not any(payloads)
    names = (*_MESSAGES, *_REMARKS) if is_empty else _MESSAGES
    message = next((value for name in names if isinstance(value := found.get(name), str) and value), "")
    is_sure = found.get("success") is True or found.get("ok") is True
    is_relevant = is_empty or (call.category == "do" and not is_sure)
    find = failure_text.find_read_failure if call.category == "search" else failure_text.find_write_failure
    if is_relevant and (line := find(message)):
        return f"it says: {shorten(line)}"
    return http_response.find_undone(found) if call.category == "do" else ""


def join_text_blocks(blocks: Json) -> str:
    """The text in the content blocks of an MCP server."""
    if not isinstance(blocks, list):
        return ""
    texts = [one for one in blocks if isinstance(one, dict) and one.get("type") in ("text", "input_text")]
    return "\n".join(str(one.get("text", "")) for one in texts)
