"""Blocks within a budget: each is counted as it will be written, nothing is dropped without saying so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sojourn.core.budget import estimate_tokens, truncate_to_tokens
from sojourn.core.events import Progress
from sojourn.ports.context import ContextBlock, Contribution

LEAST = 24  # tokens of text below which a cut block is not worth its heading


def written(block: ContextBlock) -> str:
    """A block as runtimes write it: what it is, where it comes from, why it is here, and its words."""
    return f"## {block.title} ({block.kind})\nFrom: {block.origin}\nWhy: {block.reason}\n\n{block.text}"


def sized(block: ContextBlock) -> ContextBlock:
    return replace(block, tokens=estimate_tokens(written(block)))


def pack(blocks: Iterable[ContextBlock], budget: int) -> tuple[list[ContextBlock], list[str]]:
    """What fits, in the given order, and what did not, in words. One that is too long is cut if that leaves enough."""
    kept: list[ContextBlock] = []
    left_out: list[str] = []
    room = budget
    for block in map(sized, blocks):
        if block.tokens > room:
            cut = _cut(block, room)
            left_out.append(f"{block.title}: {'only its beginning fits' if cut else 'no room'} ({block.tokens} tokens)")
            if cut is None:
                continue
            block = cut
        kept.append(block)
        room -= block.tokens
    return kept, left_out


def _cut(block: ContextBlock, room: int) -> ContextBlock | None:
    heading = estimate_tokens(written(replace(block, text="")))
    for most in range(room - heading, LEAST - 1, -1):  # the whole may count a little more than its parts
        cut = sized(replace(block, text=truncate_to_tokens(block.text, most)))
        if cut.text and cut.tokens <= room:
            return cut
    return None


def told(block: ContextBlock) -> Progress:
    """What surfaces show for a block: the person sees everything that was put before the runtime."""
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


def packed(blocks: Sequence[ContextBlock], budget: int, left_out: Sequence[str] = ()) -> Contribution:
    """The contribution made of these blocks, as far as they fit."""
    kept, dropped = pack(blocks, budget)
    return Contribution(blocks=tuple(kept), shown=tuple(map(told, kept)), left_out=(*left_out, *dropped))
