"""Shown text: redacts what a turn shows while it is being written, before anything of it is stored."""

from __future__ import annotations

import asyncio

from sojourn.core.events import Chunk, Progress, Yielded
from sojourn.core.messages import Message
from sojourn.text.redaction import INLINE_CHARS, Redacted
from sojourn.text.stream_redaction import StreamRedactor


class ShownText:
    """The answer and the reasoning of one message. Each is redacted as one text, however it is cut into pieces."""

    def __init__(self, *, is_redacted: bool) -> None:
        self._is_redacted = is_redacted
        self._answer, self._thinking = StreamRedactor(), StreamRedactor()

    def feed(self, item: Yielded) -> list[Yielded]:
        """The items to store now: none while a piece is held back; the rest before the message that contains it."""
        if not self._is_redacted or isinstance(getattr(item, "text", None), Redacted):
            return [item]
        if isinstance(item, Chunk):
            return _to_chunks(self._answer.feed(item.text))
        if isinstance(item, Progress) and item.stage == "thinking" and isinstance(item.detail.get("text"), str):
            return _to_thinking(self._thinking.feed(item.detail["text"]))
        if isinstance(item, Message) and item.role == "assistant":
            return [*self.end(), item]
        return [item]

    async def feed_long(self, item: Yielded) -> list[Yielded]:
        """The same; a long piece is redacted in a thread."""
        is_long = len(getattr(item, "text", "")) > INLINE_CHARS
        return await asyncio.to_thread(self.feed, item) if is_long else self.feed(item)

    def end(self) -> list[Yielded]:
        """What was held back."""
        return [*_to_thinking(self._thinking.end()), *_to_chunks(self._answer.end())]


def _to_chunks(text: str) -> list[Yielded]:
    return [Chunk(Redacted(text))] if text else []


def _to_thinking(text: str) -> list[Yielded]:
    return [Progress("thinking", {"text": text})] if text else []
