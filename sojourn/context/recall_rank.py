"""The ranked messages that a request may be about: by words, by the period it names and, if installed, by vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from sojourn.context.embeddings import LOAD_WAIT_SECONDS, Embedders, MatchesWords
from sojourn.context.time_words import Period, parse_period
from sojourn.core.errors import BadInput
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.ports.app import PluginContext
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.text.answer_signs import AnswerSigns

MAX_RANKED = 200  # messages
MAX_SAID_CHARS = 4_000  # of a request: its beginning and its end; every word of it is looked up
_NO_SESSION = SessionId("")
_ROLES = ("user", "assistant")
_SIMILARITY_WEIGHT = 0.2  # of the meaning as a whole
_WORDS_WEIGHT, _UNRELATED_SHARE = 0.5, 0.25  # of words near in meaning; of them, what unrelated messages have too
_MAX_ASKED = 60  # messages that an embedding server compares in the time that a turn has
_COMPARED_CHARS = 400  # of a message
_PERIOD_WEIGHT = 0.15
_AFTER_SECONDS = 14 * 86_400.0  # what happened in a period is told in it or soon after


def clip_request(said: str) -> str:
    """The beginning and the end of a long request, which say what it is about."""
    half = MAX_SAID_CHARS // 2
    return said if len(said) <= MAX_SAID_CHARS else f"{said[:half]}\n{said[-half:]}"


async def rank_memories(
    app: PluginContext,
    said: str,
    *,
    principal: Principal = OWNER,
    session: SessionId = _NO_SESSION,
    limit: int = MAX_RANKED,
    wait: bool = False,
) -> list[SearchHit]:
    """Returns messages of past sessions, best first, with their whole texts.

    session: the one that asks; of it only summarised messages are found
    wait: until the word vectors are loaded, instead of doing without
    """
    said = clip_request(said)
    period = parse_period(said, datetime.now().astimezone())
    query = SearchQuery(
        text=said, principal=principal, roles=_ROLES, limit=max(limit, MAX_RANKED), order="relevance", recall_in=session
    )
    try:
        hits = await app.store.search(_within(query, period))
        if not hits and period and period.is_relative:
            hits = await app.store.search(query)
    except BadInput:  # no word in it
        return []
    if not hits:
        return []
    near, words = await asyncio.to_thread(_compare, app, said, [hit.text[:_COMPARED_CHARS] for hit in hits], wait)
    scores = [hit.score + more + _period_bonus(hit, period) for hit, more in zip(hits, near, strict=True)]
    factors = map(AnswerSigns(said).weigh, (hit.text for hit in hits))
    totals = [(score + more) * factor for score, more, factor in zip(scores, words, factors, strict=True)]
    scale = max(scores) / (max(totals) or 1.0)  # near words and signs order what fits, and are no reason to speak
    scored = [replace(hit, score=round(scale * total, 4)) for hit, total in zip(hits, totals, strict=True)]
    return sorted(scored, key=lambda hit: -hit.score)[:limit]


def _within(query: SearchQuery, period: Period | None) -> SearchQuery:
    if period is None or not period.is_relative:
        return query
    return replace(query, since=period.since, until=period.until)


def _period_bonus(hit: SearchHit, period: Period | None) -> float:
    is_in = period is not None and period.since <= hit.timestamp < period.until + _AFTER_SECONDS
    return _PERIOD_WEIGHT if is_in else 0.0


def _compare(app: PluginContext, said: str, texts: Sequence[str], wait: bool) -> tuple[list[float], list[float]]:
    """Returns what the meaning of each text as a whole, and its words, may add to its score. Blocks."""
    embedder = app.shared(Embedders).word_vectors(None if wait else LOAD_WAIT_SECONDS)
    near, words = [0.0] * len(texts), [0.0] * len(texts)
    if embedder is None:
        return near, words
    compared = texts
    if isinstance(embedder, MatchesWords):
        shares = embedder.match_words(said, texts)
        words = [_WORDS_WEIGHT * max(0.0, share - _UNRELATED_SHARE) for share in shares]
    else:
        compared = texts[:_MAX_ASKED]
    near[: len(compared)] = [_SIMILARITY_WEIGHT * max(0.0, value) for value in embedder.similarities(said, compared)]
    return near, words


def format_day(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d")
