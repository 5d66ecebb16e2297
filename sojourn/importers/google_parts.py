"""Content in Google's form, which Gemini CLI and Qwen Code store: a text, or parts of texts, calls and responses."""

from __future__ import annotations

from typing import Any

from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.transcript_builder import as_mapping, as_parts, as_text


def sort_google_parts(content: Any) -> MessagePieces:
    """The pieces of `content`; a part may stand without its list."""
    pieces = MessagePieces()
    for part in [content] if isinstance(content, dict) else as_parts(content):
        one = as_mapping(part)
        call, response = as_mapping(one.get("functionCall")), as_mapping(one.get("functionResponse"))
        if call:
            pieces.add_call(call.get("id"), call.get("name"), call.get("args"))
        elif response:
            answer = as_mapping(response.get("response"))
            is_error = "error" in answer
            said = as_text(answer.get("error" if is_error else "output")) or answer
            pieces.add_output(response.get("id"), said, is_error=is_error)
        elif one.get("thought"):
            pieces.add_thought(one.get("text"))
        elif "text" in one:
            pieces.add_text(one.get("text"))
        elif isinstance(part, str):
            pieces.add_text(part)
        elif one:
            pieces.parts.append(one)
    return pieces
