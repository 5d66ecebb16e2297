"""Free text: the very small model of this machine answers, and is always named when it does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from sojourn.runtimes.offline.stage import Stage
from sojourn.text.ansi import ControlStripper

# The words it was trained with: with any of our own it answers worse.
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
MOST = 160  # tokens of an answer
_SAID = 2_000  # characters of what was said


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """The last thing an answer gives: how many tokens it took."""

    input_tokens: int
    output_tokens: int


class Speaks(Protocol):
    """A model that goes on where a conversation stops. Closing the generator silences it."""

    def say(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = MOST
    ) -> AsyncGenerator[str | Used, None]: ...
    async def close(self) -> None: ...


def prompt(said: str) -> list[Mapping[str, str]]:
    """What was said, and nothing else: given more, so small a model repeats it instead of answering."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": said[:_SAID]}]


async def answer(stage: Stage, model: Speaks, label: str) -> Used | None:
    """Says what the model says; gives what that took, or None when it said nothing."""
    plain, said, used = ControlStripper(), False, None
    async with aclosing(model.say(prompt(stage.turn.said))) as words:
        async for piece in words:
            if isinstance(piece, Used):
                used = piece
                continue
            text = plain.feed(piece)
            if text and not said:
                stage.say(label)
                said = True
            stage.say(text)
    stage.say(plain.end() + "\n" if said else "")
    return used if said else None
