"""Compaction: splits off the oldest messages for a summary, and shortens old tool results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.tool import Tool
from sojourn.runtimes.prompt_text import is_imported, quote_imported
from sojourn.text.token_count import estimate_tokens, truncate_to_tokens

SUMMARISE = (
    "You keep the memory of a long conversation. Write down what somebody needs who goes on with it and has read"
    " nothing: what the person wants, what was decided and why, facts, names, paths, commands and their outcome, what"
    " is still open. Keep exact names and numbers. Leave out pleasantries. Write in the language of the conversation,"
    " in short lines, at most 500 words. If there is an earlier summary, carry on from it and keep what still matters."
)
_MAX_MESSAGE_CHARS = 4_000  # of one message in the text to summarise
_MAX_OLD_RESULT_CHARS = 600  # of a tool result from an earlier step of this turn
_MESSAGE_OVERHEAD_TOKENS = 4
History = tuple[HistoryEntry, ...]

_text_tokens = lru_cache(maxsize=1024)(estimate_tokens)  # every step sends the same messages again, some of them long


def message_tokens(message: Message) -> int:
    """Estimates the tokens of one message."""
    return _text_tokens(message.content or "") + _text_tokens(message.tool_calls or "") + _MESSAGE_OVERHEAD_TOKENS


def request_tokens(messages: Sequence[ModelMessage], tools: Sequence[Tool] = ()) -> int:
    """Estimates the tokens of a request with the schemas of its tools."""
    parts = (part for message in messages for part in message.parts)
    texts = (str(getattr(part, "content", "")) + str(getattr(part, "args", "")) for part in parts)
    described = (_text_tokens(tool.description) + _text_tokens(json.dumps(dict(tool.parameters))) for tool in tools)
    return sum(_text_tokens(text) + _MESSAGE_OVERHEAD_TOKENS for text in texts) + sum(described)


def split_history(history: History, max_tokens: int) -> tuple[History, History]:
    """Returns the messages to summarise, and the newest ones, which fit into `max_tokens` and begin with the person."""
    first_kept, used = len(history), 0
    for at in range(len(history) - 1, -1, -1):
        used += message_tokens(history[at].message)
        if used > max_tokens:
            break
        if history[at].message.role == "user":
            first_kept = at
    return history[:first_kept], history[first_kept:]


def to_pages(old: Sequence[HistoryEntry], max_tokens: int) -> list[str]:
    """Renders old messages as text, in pages of at most `max_tokens` each."""
    pages, used = [""], 0
    for past in old:
        entry = truncate_to_tokens(_render_message(past.message), max_tokens)
        size = estimate_tokens(entry)
        if pages[-1] and used + size > max_tokens:
            pages.append("")
            used = 0
        pages[-1] += entry
        used += size
    return [page for page in pages if page]


def _render_message(message: Message) -> str:
    if message.role == "system" and is_imported(message):
        message = quote_imported(message)
    text, half = text_of(message), _MAX_MESSAGE_CHARS // 2
    if len(text) > _MAX_MESSAGE_CHARS:
        text = f"{text[:half]} […] {text[-half:]}"
    used = "".join(f"\n[{call.name} {call.arguments[:500]}]" for call in tool_calls_of(message))
    who = f"result of {message.tool_name or 'a tool'}" if message.role == "tool" else message.role
    return f"{who}: {text}{used}\n\n" if text or used else ""


def shorten_results(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Shortens long tool results in the request, except those of the last step. The session keeps them whole."""
    last = max((at for at, one in enumerate(messages) if isinstance(one, ModelResponse)), default=0)
    return [
        _shorten_request(one) if at < last and isinstance(one, ModelRequest) else one for at, one in enumerate(messages)
    ]


def _shorten_request(request: ModelRequest) -> ModelRequest:
    parts = []
    for part in request.parts:
        text = part.model_response_str() if isinstance(part, ToolReturnPart) else ""
        if isinstance(part, ToolReturnPart) and len(text) > 2 * _MAX_OLD_RESULT_CHARS:
            words = f"{text[:_MAX_OLD_RESULT_CHARS]}\n[… shortened, {len(text)} characters in all]"
            part = ToolReturnPart(tool_name=part.tool_name, content=words, tool_call_id=part.tool_call_id)
        parts.append(part)
    return ModelRequest(parts=parts)
