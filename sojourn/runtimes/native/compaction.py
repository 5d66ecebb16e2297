"""When a conversation outgrows the model: the oldest part is told in a summary, in the same session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.tool import Tool

SUMMARISE = (
    "You keep the memory of a long conversation. Write down what somebody needs who goes on with it and has read"
    " nothing: what the person wants, what was decided and why, facts, names, paths, commands and their outcome, what"
    " is still open. Keep exact names and numbers. Leave out pleasantries. Write in the language of the conversation,"
    " in short lines, at most 500 words. If there is an earlier summary, carry on from it and keep what still matters."
)
_PER_MESSAGE = 4_000  # characters of one message that go into a summary
_PICTURE = 1_500  # tokens, about
_SHORT = 600  # characters that are left of an old tool result of this turn


def tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of its bytes, which holds for English and is near for Chinese."""
    return len(text.encode("utf-8", "replace")) // 4 + 1


def size(message: Message) -> int:
    return tokens(message.content or "") + tokens(message.tool_calls or "") + 4


def size_of_request(messages: Sequence[ModelMessage], tools: Sequence[Tool] = ()) -> int:
    """About how many tokens a request is."""
    texts = (
        str(getattr(part, "content", "")) + str(getattr(part, "args", "")) for one in messages for part in one.parts
    )
    described = (tokens(tool.description) + tokens(json.dumps(dict(tool.parameters))) for tool in tools)
    return sum(tokens(text) + 4 for text in texts) + sum(described)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the conversation is cut: what will be summarised, and what stays as it is."""

    old: tuple[HistoryEntry, ...]
    kept: tuple[HistoryEntry, ...]


def cut(history: Sequence[HistoryEntry], room: int) -> Cut:
    """Keeps the newest messages that fit into `room` tokens, beginning with something a person said."""
    kept, used = len(history), 0
    for at in range(len(history) - 1, -1, -1):
        used += size(history[at].message)
        if used > room:
            break
        if history[at].message.role == "user":
            kept = at
    return Cut(tuple(history[:kept]), tuple(history[kept:]))


def pages(old: Sequence[HistoryEntry], room: int) -> list[str]:
    """The old part as text, in pieces that fit into `room` tokens each."""
    made: list[str] = [""]
    for past in old:
        line = _line(past.message)
        if line and made[-1] and tokens(made[-1]) + tokens(line) > room:
            made.append("")
        made[-1] += line[: room * 3]
    return [page for page in made if page]


def _line(message: Message) -> str:
    text = text_of(message)
    short = text if len(text) <= _PER_MESSAGE else f"{text[: _PER_MESSAGE // 2]} […] {text[-_PER_MESSAGE // 2 :]}"
    used = "".join(f"\n[{call.name} {call.arguments[:500]}]" for call in tool_calls_of(message))
    who = f"result of {message.tool_name or 'a tool'}" if message.role == "tool" else message.role
    return f"{who}: {short}{used}\n\n" if short or used else ""


def shortened(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The request with long tool results cut, except those of the last step. What is kept stays whole."""
    last = max((at for at, one in enumerate(messages) if isinstance(one, ModelResponse)), default=0)
    return [_short(one) if at < last and isinstance(one, ModelRequest) else one for at, one in enumerate(messages)]


def _short(request: ModelRequest) -> ModelRequest:
    made = []
    for part in request.parts:
        text = part.model_response_str() if isinstance(part, ToolReturnPart) else ""
        if isinstance(part, ToolReturnPart) and len(text) > 2 * _SHORT:
            words = f"{text[:_SHORT]}\n[… shortened, {len(text)} characters in all]"
            part = ToolReturnPart(tool_name=part.tool_name, content=words, tool_call_id=part.tool_call_id)
        made.append(part)
    return ModelRequest(parts=made)
