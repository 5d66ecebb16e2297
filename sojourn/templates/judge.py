"""Did a call work? Judged from what came back, never assumed.

First what the result says of itself (flags, error fields, exit codes, HTTP statuses), then, where words are all there
is: those of a program, of a server, of a page or of the tool itself. What was only *read* is never held against the
reader.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.messages import Json
from sojourn.templates import answers, fields, notices, pages, products, programs, tool_names
from sojourn.templates.calls import Arguments, Call
from sojourn.templates.tool_calls import json_of

_CODE_LINE = re.compile(
    r"\s*(?:.{0,80}\n){0,3}?(?:Exit code:? |Process exited with code )(-?\d+)[^\n]*"
    r"(?:\n(?:Wall time|Original token).*)*(?:\nOutput:)?"
)
_HEADER = 600  # characters in which a result names its exit code
_REASONS = ("it ", "the ", "HTTP", "what ", "a ")  # how a reason of ours begins; all else is quoted


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call worked, and what says so."""

    success: bool
    because: str = ""


WORKED = Verdict(True)


def judge(
    tool: str,
    arguments: Mapping[str, Json] | Arguments,
    result: str | None,
    *,
    extra: Mapping[str, Json] | None = None,
    effect: str | None = None,
) -> Verdict:
    """Judges one call by its result. `extra` and `effect` are what the transcript noted beside it. Arguments may be
    given as a function: most verdicts do not need them."""
    if result is None:
        return Verdict(False, "it was never answered")
    if extra and (extra.get("is_error") is True or extra.get("ok") is False):
        return Verdict(False, "the transcript marks it as an error")
    if effect == "unknown":
        return Verdict(False, "it was interrupted")
    call = Call(*tool_names.ways(tool), arguments if callable(arguments) else lambda: arguments)
    found = _parsed(result)
    if isinstance(found, dict) and (call.manner != "run" or fields.is_of_tool(call, found)):
        why = fields.failure(call, found)
    else:
        why = _of_text(call, products.text_in(found) or result)
    return Verdict(False, why) if why else WORKED


def _parsed(text: str) -> Json:
    """The object a result is, or the blocks of text it is made of."""
    if text[:1] != "{" and not text[:20].lstrip().startswith(("{", '[{"type"', '[{"text"')):
        return None
    try:
        return json_of(text)
    except (ValueError, RecursionError):
        return None


def _of_text(call: Call, text: str) -> str:
    """A result that is plain words: an exit code if it names one, else by what the tool is there for."""
    if hit := _CODE_LINE.match(text, 0, _HEADER):
        code, rest = int(hit[1]), text[hit.end() :]
        if code:
            return "" if fields.is_answer(call, code, rest.strip()) else f"exit code {code}"
        return programs.failure(call, rest)
    if why := _BY_MANNER[call.manner](call, text):
        return why if why.startswith(_REASONS) else f"it says: {products.short(why)}"
    return ""


def _of_run(call: Call, text: str) -> str:
    return notices.refusal(text) or programs.failure(call, text)


def _of_look(call: Call, text: str) -> str:
    return notices.of_looking(text)


def _of_search(call: Call, text: str) -> str:
    return notices.of_searching(text)


def _of_page(call: Call, text: str) -> str:
    return notices.of_page(text) or pages.in_place_of(text, title=pages.title_of(text), asked=call.url)


def _of_ask(call: Call, text: str) -> str:
    if status := answers.status_line(text):
        return answers.refused(status, call.about, looks=call.method == "HEAD", writes=call.writes)
    return notices.of_page(text) or answers.body(text, writes=call.writes)


def _of_deed(call: Call, text: str) -> str:
    return notices.refusal(text) or notices.of_doing(text)


def _of_relay(call: Call, text: str) -> str:
    return notices.refusal(text)


_BY_MANNER = {
    "run": _of_run,
    "look": _of_look,
    "search": _of_search,
    "page": _of_page,
    "ask": _of_ask,
    "do": _of_deed,
    "relay": _of_relay,
}
