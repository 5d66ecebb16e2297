"""Decides whether a tool call worked, from its result.

Structured signs come first (flags, error fields, exit codes, HTTP status). Where the result is plain text, the rules
depend on the category of the tool: text that a tool only read is no evidence against the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.messages import Json
from sojourn.templates import tool_names
from sojourn.templates.judge import failure_text, http_response, json_result, program_output
from sojourn.templates.judge.call import Arguments, CallView, is_exit_answer, parse_exit_header


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call worked, and the reason if it did not."""

    success: bool
    because: str = ""


_SUCCESS = Verdict(True)


def judge(
    tool: str,
    arguments: Mapping[str, Json] | Arguments,
    result: str | None,
    *,
    extra: Mapping[str, Json] | None = None,
    effect: str | None = None,
) -> Verdict:
    """Judges one call by its result.

    `arguments` is a mapping, or a function that returns one and is called only if a rule needs it. `extra` and
    `effect` are what the transcript recorded beside the result.
    """
    if result is None:
        return Verdict(False, "it was never answered")
    if extra and (extra.get("is_error") is True or extra.get("ok") is False):
        return Verdict(False, "the transcript marks it as an error")
    if effect == "unknown":
        return Verdict(False, "it was interrupted")
    get_arguments = arguments if callable(arguments) else lambda: arguments
    call = CallView(tool_names.kind(tool), tool_names.tool_category(tool), get_arguments)
    found = http_response.parse_json(result, openings=("{", '[{"type"', '[{"text"'))
    if isinstance(found, dict) and (call.category != "run" or json_result.is_tool_result(call, found)):
        reason = json_result.find_failure(call, found)
    else:
        reason = _judge_text(call, json_result.join_text_blocks(found) or result)
    return Verdict(False, reason) if reason else _SUCCESS


def _judge_text(call: CallView, text: str) -> str:
    if header := parse_exit_header(text):
        code, output = header
        if code:
            return "" if is_exit_answer(call, code, output.strip()) else f"exit code {code}"
        return program_output.find_failure(call, output)
    reason = _apply_category(call, text)
    return f"it says: {http_response.shorten(reason)}" if reason and reason in text else reason


def _apply_category(call: CallView, text: str) -> str:
    match call.category:
        case "run":
            return failure_text.find_refusal(text) or program_output.find_failure(call, text)
        case "look" | "search":
            return failure_text.find_read_failure(text)
        case "page":
            return failure_text.find_fetch_failure(text) or http_response.find_page_failure(text, asked=call.url)
        case "ask":
            if status := http_response.parse_status_line(text):
                return http_response.explain_status(status, call.about, probes=call.method == "HEAD")
            return failure_text.find_fetch_failure(text) or http_response.find_failure(text, writes=call.writes)
        case "relay":
            return failure_text.find_refusal(text)
        case _:
            return failure_text.find_refusal(text) or failure_text.find_write_failure(text)
