"""Token budget of a context source: selects and truncates blocks, and reports what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sojourn.core.events import Progress
from sojourn.ports.context import ContextBlock, ContextContribution
from sojourn.text.token_count import estimate_tokens, truncate_to_tokens

MIN_BLOCK_TOKENS = 24  # a block that would be cut to less text is left out


def with_token_count(block: ContextBlock) -> ContextBlock:
    return replace(block, tokens=estimate_tokens(block.render()))


def fit_blocks(blocks: Iterable[ContextBlock], budget: int) -> tuple[list[ContextBlock], list[str]]:
    """Returns the blocks that fit, in the given order, and a line for each that was truncated or left out."""
    kept: list[ContextBlock] = []
    left_out: list[str] = []
    room = budget
    for block in map(with_token_count, blocks):
        if block.tokens > room:
            cut = _truncate_block(block, room)
            left_out.append(f"{block.title}: {'only its beginning fits' if cut else 'no room'} ({block.tokens} tokens)")
            if cut is None:
                continue
            block = cut
        kept.append(block)
        room -= block.tokens
    return kept, left_out


def _truncate_block(block: ContextBlock, room: int) -> ContextBlock | None:
    heading = estimate_tokens(replace(block, text="").render())
    for most in range(room - heading, MIN_BLOCK_TOKENS - 1, -1):  # joined parts may count more
        cut = with_token_count(replace(block, text=truncate_to_tokens(block.text, most)))
        if cut.text and cut.tokens <= room:
            return cut
    return None


def to_memory_progress(block: ContextBlock) -> Progress:
    """Returns the progress event of a block: surfaces show everything that a runtime is given."""
    return Progress(
        "memory",
        {
            "kind": block.kind,
            "title": block.title,
            "origin": block.origin,
            "reason": block.reason,
            "tokens": block.tokens,
        },
    )


def to_contribution(blocks: Sequence[ContextBlock], budget: int, left_out: Sequence[str] = ()) -> ContextContribution:
    """Builds a contribution of the blocks that fit."""
    kept, dropped = fit_blocks(blocks, budget)
    return ContextContribution(
        blocks=tuple(kept), shown=tuple(map(to_memory_progress, kept)), left_out=(*left_out, *dropped)
    )
