"""Recalled memory: what earlier sessions of the same person said about this, and the summarised past of this one.

Search wants every word of a query in one message, so a request becomes several queries, the fullest first. What they
find is ranked by the telling words it has and, where word vectors are installed, by its meaning.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from math import log2

from sojourn.context.budget import packed
from sojourn.context.embeddings import Embedders
from sojourn.context.stemming import is_small, stem
from sojourn.core.budget import truncate_to_tokens
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import SessionId
from sojourn.core.terms import is_unspaced, tokens
from sojourn.ports.context import ContextBlock, Contribution, Request, Stage
from sojourn.ports.kit import Kit
from sojourn.ports.store import Hit, Search, SessionStore

SECONDS = 0.5  # after that no further query is asked
PATIENCE = 0.15  # seconds to wait for word vectors that are just being loaded
MOST_WORDS, PER_QUERY, MOST_READ, MOST_SESSIONS = 6, 12, 10, 4
_ENOUGH = 0.5  # the share of the request's telling words that an excerpt must have
_NEAR, _SOME = 0.45, 0.2  # or the cosine with which that share is enough
_UNKNOWN = 0.5  # what a word counts that was never said before: it may be a slip, or another subject
_EXCERPT = 220  # tokens of one message


@dataclass(slots=True)
class _Place:
    """A message that was found, and by which words."""

    hit: Hit
    found_by: set[str] = field(default_factory=set)
    share: float = 0.0  # of the telling words
    nearness: float = 0.0
    words: list[Message] = field(default_factory=list)

    @property
    def score(self) -> float:
        return self.share + 0.5 * self.nearness

    @property
    def is_about_it(self) -> bool:
        return self.share >= _ENOUGH or (self.share >= _SOME and self.nearness >= _NEAR)


class Recall:
    """Looks into past sessions; says for each excerpt which session it is from, when, and why."""

    name = "recall"
    stage: Stage = "memory"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def contribute(self, request: Request) -> Contribution:
        asked = telling(request.said) if self._kit.settings["memory.recall"] else []
        if not asked:
            return Contribution()
        places = await self._found(request, asked)
        best = await self._judged(places, request)
        chosen: dict[SessionId, list[_Place]] = {}
        for place in best:
            if place.hit.session in chosen or len(chosen) < MOST_SESSIONS:
                chosen.setdefault(place.hit.session, []).append(place)
        return packed([_block(found[:2], request) for found in chosen.values()], request.budget)

    async def _found(self, request: Request, asked: Sequence[str]) -> list[_Place]:
        """Candidates by several queries; how many a word alone finds says how telling it is."""
        begun, places, counts = time.monotonic(), dict[tuple[str, int], _Place](), dict[str, int]()
        for group in queries(asked):
            if time.monotonic() - begun > SECONDS:
                break
            text = " ".join(map(_searched, group))
            hits = await self._kit.store.search(
                Search(text=text, principal=request.session.principal, roles=_ROLES, limit=PER_QUERY)
            )
            if len(group) == 1:
                counts[group[0]] = len(hits)
            for hit in hits:
                places.setdefault((hit.session, hit.seq), _Place(hit)).found_by.update(group)
        rarity = {word: 1 / log2(2 + counts.get(word, PER_QUERY)) for word in asked}
        rarity |= {word: _UNKNOWN for word in asked if counts.get(word) == 0}
        whole = sum(rarity.values()) or 1.0
        for place in places.values():
            place.share = sum(rarity.get(word, 0.0) for word in place.found_by) / whole
        return sorted(places.values(), key=lambda place: (-place.score, -place.hit.at))[: 3 * MOST_READ]

    async def _judged(self, places: Sequence[_Place], request: Request) -> list[_Place]:
        """Those that are about it, best first, with their words read."""
        near = await asyncio.to_thread(self._nearness, request.said, [place.hit.snippet.text for place in places])
        for place, value in zip(places, near, strict=True):
            place.nearness = max(0.0, value)
        kept: list[_Place] = []
        for place in sorted((one for one in places if one.is_about_it), key=lambda one: -one.score):
            place.words = await _read(self._kit.store, place.hit, request)
            if place.words:
                kept.append(place)
            if len(kept) == MOST_READ:
                break
        return kept

    def _nearness(self, said: str, texts: Sequence[str]) -> list[float]:
        sense = self._kit.shared(Embedders).words(PATIENCE)
        return sense.nearness(said, texts) if sense and texts else [0.0] * len(texts)


_ROLES = ("user", "assistant")


def make(kit: Kit) -> Recall:
    return Recall(kit)


def telling(text: str) -> list[str]:
    """The words of a request worth searching for, the longest first: long words are rarely small talk."""
    found = dict.fromkeys(token.term for token in tokens(text) if not is_small(token.term))
    return sorted(found, key=lambda word: -_weight(word))[:MOST_WORDS]


def _weight(word: str) -> int:
    return 3 * len(word) if is_unspaced(word[0]) else len(word)


def queries(asked: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of words to search for: all, the first three, pairs of the first four, and each alone."""
    groups: list[tuple[str, ...]] = [tuple(asked), tuple(asked[:3]), *combinations(asked[:4], 2)]
    groups += [(word,) for word in asked]
    return list(dict.fromkeys(group for group in groups if group))


def _searched(word: str) -> str:
    """A word as search takes it: without its ending, so that other forms are found too."""
    root = stem(word)
    return f"{root}*" if len(root) >= 4 and root.isascii() and root.isalpha() and word.startswith(root) else word


async def _read(store: SessionStore, hit: Hit, request: Request) -> list[Message]:
    """The message, and the answer if it is a question. Of this very session only what left the live transcript."""
    found: list[Message] = []
    async with aclosing(store.read(hit.session, after=hit.seq - 1, messages_only=True)) as log:
        async for kept in log:
            message = kept.item
            if not isinstance(message, Message) or not text_of(message).strip():
                continue
            is_live = hit.session == request.session.id and message.active
            if is_live or not (message.active or message.compacted) or (found and message.role != "assistant"):
                break
            found.append(message)
            if message.role == "assistant" or len(found) == 2:
                break
    return found


def _block(places: Sequence[_Place], request: Request) -> ContextBlock:
    first = places[0].hit
    is_here = first.session == request.session.id
    day = datetime.fromtimestamp(first.timestamp, UTC).strftime("%Y-%m-%d")
    shared = dict.fromkeys(word for place in places for word in sorted(place.found_by))
    reason = f"it mentions {', '.join(f'“{word}”' for word in list(shared)[:5])}"
    if max(place.nearness for place in places) >= _NEAR:
        reason += f", and is close in meaning ({max(place.nearness for place in places):.2f})"
    title = "Earlier in this conversation" if is_here else f"From “{first.title or 'an untitled session'}”"
    ordered = sorted(places, key=lambda place: place.hit.seq)
    lines = [f"{one.role}: {truncate_to_tokens(text_of(one), _EXCERPT)}" for place in ordered for one in place.words]
    return ContextBlock(
        kind="recall",
        title=title,
        text="\n".join(dict.fromkeys(lines)),
        origin=f"session {first.session}, {day}",
        reason=reason,
    )
