"""Recall: finds messages of earlier sessions, and of the compacted part of this one, that a request is about.

Search demands every word of a query in one message, so a request becomes several queries, the longest first. Hits are
ranked by the rare words they share with the request and, where word vectors are installed, by similarity.
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

from sojourn.context.budget import to_contribution
from sojourn.context.embeddings import LOAD_WAIT_SECONDS, Embedders
from sojourn.core.messages import Message, text_of
from sojourn.core.provenance import Origin
from sojourn.core.sessions import SessionId
from sojourn.ports.app import PluginContext
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.store import SearchHit, SearchQuery, SessionStore
from sojourn.text.stemming import is_stop_word, stem
from sojourn.text.token_count import truncate_to_tokens
from sojourn.text.tokenizer import tokenize
from sojourn.text.writing_systems import is_unspaced

SEARCH_SECONDS = 0.5  # then no further query is sent
MAX_WORDS, HITS_PER_QUERY, MAX_MESSAGES, MAX_SESSIONS = 6, 12, 10, 4  # counts
_MIN_SHARE = 0.5  # weighted share of the request's words that a message must have
_MIN_SIMILARITY, _MIN_SHARE_IF_SIMILAR = 0.45, 0.2  # the share that is enough at this cosine
_UNSEEN_WORD_WEIGHT = 0.5  # weight of a word that no session contains: a typo, or another subject
_EXCERPT_TOKENS = 220  # of one message


@dataclass(slots=True)
class _Candidate:
    """A message that was found, and the words that found it."""

    hit: SearchHit
    found_by: set[str] = field(default_factory=set)
    share: float = 0.0  # of the telling words
    nearness: float = 0.0
    messages: list[Message] = field(default_factory=list)

    @property
    def score(self) -> float:
        return self.share + 0.5 * self.nearness

    @property
    def is_relevant(self) -> bool:
        return self.share >= _MIN_SHARE or (self.share >= _MIN_SHARE_IF_SIMILAR and self.nearness >= _MIN_SIMILARITY)


class Recall:
    """Context source: excerpts of past sessions, each with session, date and reason."""

    name = "recall"
    stage: Stage = "memory"

    def __init__(self, app: PluginContext) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        words = search_words(request.said) if self._app.settings["memory.recall"] else []
        if not words:
            return ContextContribution()
        candidates = await self._search(request, words)
        best = await self._rank(candidates, request)
        chosen: dict[SessionId, list[_Candidate]] = {}
        for candidate in best:
            if candidate.hit.session in chosen or len(chosen) < MAX_SESSIONS:
                chosen.setdefault(candidate.hit.session, []).append(candidate)
        return to_contribution([_to_block(found[:2], request) for found in chosen.values()], request.budget)

    async def _search(self, request: ContextRequest, words: Sequence[str]) -> list[_Candidate]:
        """Returns candidates from several queries; the number of hits of a word alone gives its weight."""
        begun, candidates, counts = time.monotonic(), dict[tuple[str, int], _Candidate](), dict[str, int]()
        for group in build_queries(words):
            if time.monotonic() - begun > SEARCH_SECONDS:
                break
            text = " ".join(map(_to_search_term, group))
            hits = await self._app.store.search(
                SearchQuery(
                    text=text, principal=request.session.principal, roles=("user", "assistant"), limit=HITS_PER_QUERY
                )
            )
            if len(group) == 1:
                counts[group[0]] = len(hits)
            for hit in hits:
                candidates.setdefault((hit.session, hit.seq), _Candidate(hit)).found_by.update(group)
        rarity = {word: 1 / log2(2 + counts.get(word, HITS_PER_QUERY)) for word in words}
        rarity |= {word: _UNSEEN_WORD_WEIGHT for word in words if counts.get(word) == 0}
        whole = sum(rarity.values()) or 1.0
        for candidate in candidates.values():
            candidate.share = sum(rarity.get(word, 0.0) for word in candidate.found_by) / whole
        return sorted(candidates.values(), key=lambda one: (-one.score, -one.hit.at))[: 3 * MAX_MESSAGES]

    async def _rank(self, candidates: Sequence[_Candidate], request: ContextRequest) -> list[_Candidate]:
        """Returns the relevant candidates, best first, with their messages."""
        near = await asyncio.to_thread(self._similarities, request.said, [one.hit.snippet.text for one in candidates])
        for candidate, value in zip(candidates, near, strict=True):
            candidate.nearness = max(0.0, value)
        kept: list[_Candidate] = []
        for candidate in sorted((one for one in candidates if one.is_relevant), key=lambda one: -one.score):
            candidate.messages = await _read_exchange(self._app.store, candidate.hit, request)
            if candidate.messages:
                kept.append(candidate)
            if len(kept) == MAX_MESSAGES:
                break
        return kept

    def _similarities(self, request: str, texts: Sequence[str]) -> list[float]:
        embedder = self._app.shared(Embedders).word_vectors(LOAD_WAIT_SECONDS)
        return embedder.similarities(request, texts) if embedder and texts else [0.0] * len(texts)


def search_words(text: str) -> list[str]:
    """Returns the words of a request to search for, the longest first: long words are rarely common ones."""
    terms = dict.fromkeys(token.term for token in tokenize(text) if not is_stop_word(token.term))
    return sorted(terms, key=lambda word: -_word_weight(word))[:MAX_WORDS]


def _word_weight(word: str) -> int:
    return 3 * len(word) if is_unspaced(word[0]) else len(word)


def build_queries(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns groups of words to search for: all, the first three, pairs of the first four, and each alone."""
    groups: list[tuple[str, ...]] = [tuple(words), tuple(words[:3]), *combinations(words[:4], 2)]
    groups += [(word,) for word in words]
    return list(dict.fromkeys(group for group in groups if group))


def _to_search_term(word: str) -> str:
    """Returns a word as a prefix query of its stem, so that search finds other forms too."""
    root = stem(word)
    return f"{root}*" if len(root) >= 4 and root.isascii() and root.isalpha() and word.startswith(root) else word


async def _read_exchange(store: SessionStore, hit: SearchHit, request: ContextRequest) -> list[Message]:
    """Reads a message, and its answer if it is a question. Of this session, only messages that were compacted."""
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


def _to_block(candidates: Sequence[_Candidate], request: ContextRequest) -> ContextBlock:
    first = candidates[0].hit
    is_here = first.session == request.session.id
    day = datetime.fromtimestamp(first.timestamp, UTC).strftime("%Y-%m-%d")
    shared = dict.fromkeys(word for candidate in candidates for word in sorted(candidate.found_by))
    reason = f"it mentions {', '.join(f'“{word}”' for word in list(shared)[:5])}"
    if (nearest := max(candidate.nearness for candidate in candidates)) >= _MIN_SIMILARITY:
        reason += f", and is close in meaning ({nearest:.2f})"
    title = "Earlier in this conversation" if is_here else f"From “{first.title or 'an untitled session'}”"
    ordered = sorted(candidates, key=lambda one: one.hit.seq)
    messages = [message for one in ordered for message in one.messages]
    lines = [f"{one.role}: {truncate_to_tokens(text_of(one), _EXCERPT_TOKENS)}" for one in messages]
    return ContextBlock(
        kind="recall",
        title=title,
        text="\n".join(dict.fromkeys(lines)),
        origin=f"session {first.session}, {day}",
        reason=reason,
        origins=() if is_here else ("private", *_foreign_origin(messages)),
    )


def _foreign_origin(messages: Sequence[Message]) -> tuple[Origin, ...]:
    return ("foreign",) if any(message.native_id is not None for message in messages) else ()
