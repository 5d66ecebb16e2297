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
from sojourn.templates.judge.call import Arguments, CallView, is_exit_answer
from sojourn.templates.judge.wrapper import unwrap


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
    if call.category == "page" and "method" in get_arguments():
        call = call._replace(category="ask")
    reason = _judge_result(call, result)
    return Verdict(False, reason) if reason else _SUCCESS


def _judge_result(call: CallView, result: str) -> str:
    found = http_response.parse_json(result, openings=("{", '[{"type"', '[{"text"'))
    if text := json_result.join_text_blocks(found):
        return _judge_result(call, text)
    if not isinstance(found, dict) or (call.category == "run" and not json_result.is_tool_result(call, found)):
        return _judge_text(call, result)
    text = json_result.join_text_blocks(found.get("content"))
    return json_result.find_failure(call, found) or (_judge_result(call, text) if text else "")


def _judge_text(call: CallView, text: str) -> str:
    if call.category in ("run", "do"):
        run = unwrap(text)
        if run.code:
            return "" if is_exit_answer(call, run.code, run.output.strip()) else f"exit code {run.code}"
        if run.stopped and call.category == "run":
            return f"it was stopped: {http_response.shorten(run.stopped)}"
        if run.code == 0:
            return program_output.find_failure(call, run.output)
        text = run.output
    reason = _apply_category(call, text)
    return f"it says: {http_response.shorten(reason)}" if reason and reason in text else reason


def _apply_category(call: CallView, text: str) -> str:
    match call.category:
        case "run":
            return failure_text.find_refusal(text) or program_output.find_failure(call, text)
        case "look" | "search":
            return failure_text.find_read_failure(text) or _find_missing_items(call, text)
        case "page":
            return failure_text.find_fetch_failure(text) or http_response.find_page_failure(text, asked=call.url)
        case "ask":
            if not text.strip() and not call.writes:
                return "no answer came"
            status, body = http_response.split_response(text)
            if status >= 300:
                return http_response.explain_status(status, call.about, probes=call.accepts(status))
            reason = "" if status else failure_text.find_fetch_failure(text)
            return reason or http_response.find_failure(body, writes=call.writes, asked=call.url)
        case "relay":
            return failure_text.find_refusal(text)
        case _:
            return failure_text.find_refusal(text) or failure_text.find_write_failure(text)


def _find_missing_items(call: CallView, text: str) -> str:
    """The message in place of a file (`b.txt: Error - no such file`), if half of the files have one."""
    if not any(sign in text for sign in ("rror", "失败", "错误")):
        return ""
    items = next((value for value in call.arguments().values() if isinstance(value, list)), [])
    messages = [message for item in items if (message := text.partition(f"{item}: ")[2][:100])]
    missed = [message for message in messages if failure_text.MESSAGE["error"].match(message)]
    return missed[0].partition("\n")[0] if missed and 2 * len(missed) >= len(items) else ""
