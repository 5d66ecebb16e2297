"""The conversation of a session, as another program can hold it: what was said, and each call beside its result.

Programs and their models are strict: every call has exactly one result, right behind it, and an id that occurs once.
Histories are not, so that is put in order here, once for all programs. Nothing is left out but what a program wrote by
itself (role `system`), notices of ours, and what the person took back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.continuation.tool_names import translate_call
from sojourn.core.messages import Message, extra_of, is_internal, text_of, tool_calls_of

NO_RESULT = "No result of this call was recorded."
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(slots=True, kw_only=True)
class PastCall:
    """A tool call and its result."""

    id: str
    name: str
    arguments: dict[str, Any]
    result: str = NO_RESULT
    is_error: bool = False


@dataclass(slots=True, kw_only=True)
class Entry:
    """What the person or the model said; an entry of the model may have calls."""

    is_user: bool
    text: str
    at: float
    thought: str = ""
    calls: list[PastCall] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastConversation:
    """What a program is given: the entries in order, and what it shows about the session."""

    title: str
    folder: str  # where the program will run
    model: str
    entries: Sequence[Entry]

    @property
    def started_at(self) -> float:
        return next((entry.at for entry in self.entries if entry.at), 0.0)

    @property
    def calls(self) -> list[PastCall]:
        return [call for entry in self.entries for call in entry.calls]


def list_entries(messages: Iterable[Message]) -> list[Entry]:
    """The entries of a session's messages."""
    entries, open_calls, ids = list[Entry](), dict[str, PastCall](), set[str]()
    for message in _list_said(list(messages)):
        if message.role == "user":
            entries.append(Entry(is_user=True, text=text_of(message), at=message.timestamp))
        elif message.role == "assistant":
            entry = Entry(is_user=False, text=text_of(message), at=message.timestamp, thought=_get_thought(message))
            for made in tool_calls_of(message):
                own = _choose_id(made.id, ids)
                open_calls[made.id] = PastCall(id=own, name=made.name, arguments=_parse_arguments(made.arguments))
                entry.calls.append(open_calls[made.id])
            entries.append(entry)
        elif call := open_calls.pop(message.tool_call_id or "", None):
            call.result = text_of(message)
            call.is_error = extra_of(message).get("is_error") is True
        else:  # the call itself was never recorded
            text = f"[{message.tool_name or 'tool'}] {text_of(message)}"
            entries.append(Entry(is_user=False, text=text, at=message.timestamp))
    return [entry for entry in entries if entry.text or entry.calls or entry.thought]


def adapt_calls(entries: Sequence[Entry], program: str, moved: tuple[str, str]) -> None:
    """Names calls as a program does, and moves paths from one folder to another."""
    for call in (call for entry in entries for call in entry.calls):
        name, arguments = translate_call(call.name, call.arguments, program)
        call.name = _TOOL_NAME.sub("_", name)[:64]
        call.arguments = _move_paths(arguments, *moved) if moved[0] and moved[0] != moved[1] else arguments


def _list_said(messages: list[Message]) -> list[Message]:
    """The messages that count. A program that compacts may store what it keeps a second time: that counts once."""
    live = {_to_identity(message) for message in messages if message.active}
    return [
        message
        for message in messages
        if message.role in ("user", "assistant", "tool")
        and not is_internal(message)
        and (message.active or (message.compacted and _to_identity(message) not in live))
    ]


def _to_identity(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.tool_calls, message.tool_call_id


def _get_thought(message: Message) -> str:
    return message.reasoning or message.reasoning_content or ""


def _choose_id(given: str, used: set[str]) -> str:
    own = given if _CALL_ID.fullmatch(given) and given not in used else f"call_{len(used) + 1}"
    while own in used:
        own += "_"
    used.add(own)
    return own


def _parse_arguments(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"input": text}
    return found if isinstance(found, dict) else {"input": found}


def _move_paths(value: Any, before: str, after: str) -> Any:
    """A value with paths inside one folder moved to another."""
    if isinstance(value, dict):
        return {key: _move_paths(one, before, after) for key, one in value.items()}
    if isinstance(value, list):
        return [_move_paths(one, before, after) for one in value]
    if isinstance(value, str) and (value == before or value.startswith(f"{before}/")):
        return after + value[len(before) :]
    return value
