"""Shown text: redacts what a turn shows while it is being written, before anything of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from sojourn.core.events import Chunk, Progress, Yielded
from sojourn.core.messages import Message
from sojourn.text.redaction import INLINE_CHARS, Redacted
from sojourn.text.stream_redaction import StreamRedactor

_MAX_JOINED_CHARS = 2_000


class ShownText:
    """The answer and the reasoning of one message. Each is redacted as one text, however it is cut into pieces."""

    def __init__(self, *, is_redacted: bool) -> None:
        self._is_redacted = is_redacted
        self._answer, self._thinking = StreamRedactor(), StreamRedactor()

    async def feed(self, items: Iterable[Yielded]) -> list[Yielded]:
        """The items to store now, with chunks that follow each other joined; a long piece is redacted in a thread.

        What is held back comes later, at the latest before the message that contains it.
        """
        shown: list[Yielded] = []
        for item in join_chunks(items):
            is_long = len(getattr(item, "text", "")) > INLINE_CHARS
            shown += await asyncio.to_thread(self._feed, item) if is_long else self._feed(item)
        return join_chunks(shown)

    def _feed(self, item: Yielded) -> list[Yielded]:
        if not self._is_redacted or isinstance(getattr(item, "text", None), Redacted):
            return [item]
        if isinstance(item, Chunk):
            return _to_chunks(self._answer.feed(item.text))
        if isinstance(item, Progress) and item.stage == "thinking" and isinstance(item.detail.get("text"), str):
            return _to_thinking(self._thinking.feed(item.detail["text"]))
        if isinstance(item, Message) and item.role == "assistant":
            return [*self.end(), item]
        return [item]

    def end(self) -> list[Yielded]:
        """What was held back."""
        return [*_to_thinking(self._thinking.end()), *_to_chunks(self._answer.end())]


def _to_chunks(text: str) -> list[Yielded]:
    return [Chunk(Redacted(text))] if text else []


def _to_thinking(text: str) -> list[Yielded]:
    return [Progress("thinking", {"text": text})] if text else []


def join_chunks(items: Iterable[Yielded]) -> list[Yielded]:
    """The same items, with chunks that follow each other joined: what gathered before a write costs one row."""
    joined: list[Yielded] = []
    for item in items:
        last = joined[-1] if joined else None
        if isinstance(item, Chunk) and isinstance(last, Chunk) and _may_join(last.text, item.text):
            joined[-1] = Chunk(type(item.text)(last.text + item.text))
        else:
            joined.append(item)
    return joined


def _may_join(first: str, second: str) -> bool:
    return type(first) is type(second) and len(first) + len(second) <= _MAX_JOINED_CHARS
