"""Free text: streams the small model's answer, which always names the model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from sojourn.runtimes.offline.turn_output import TurnOutput
from sojourn.text.ansi import ControlStripper

# The prompt that the model was trained with: with any other one it answers worse.
SYSTEM_PROMPT = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
MAX_ANSWER_TOKENS = 160
_MAX_PROMPT_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one answer."""

    input_tokens: int
    output_tokens: int


class TextModel(Protocol):
    """A chat model. Closing the generator stops it."""

    def stream_answer(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = MAX_ANSWER_TOKENS
    ) -> AsyncGenerator[str | TokenUsage, None]: ...
    async def close(self) -> None: ...


async def write_answer(output: TurnOutput, model: TextModel, label: str) -> TokenUsage | None:
    """Writes the model's answer under `label` and returns its tokens; None when the model said nothing."""
    # Without the history: given more text, so small a model repeats it instead of answering.
    prompt = [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": output.turn.said[:_MAX_PROMPT_CHARS]},
    ]
    stripper, has_text, usage = ControlStripper(), False, None
    async with aclosing(model.stream_answer(prompt)) as pieces:
        async for piece in pieces:
            if isinstance(piece, TokenUsage):
                usage = piece
                continue
            text = stripper.feed(piece)
            if text and not has_text:
                output.write(label)
                has_text = True
            output.write(text)
    output.write(stripper.end() + "\n" if has_text else "")
    return usage if has_text else None
