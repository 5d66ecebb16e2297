"""Recall: what past sessions, and the summarised part of this one, said about a request. Silent if nothing fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sojourn.context.budget import to_contribution
from sojourn.context.memory_need import find_lowest_score
from sojourn.context.recall_rank import clip_request, format_day, rank_memories
from sojourn.core.sessions import SessionId
from sojourn.ports.app import PluginContext
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.store import SearchHit
from sojourn.text.rank import RankedQuery
from sojourn.text.token_count import estimate_tokens

MAX_SESSIONS = 10
_MIN_SHARE = 0.3  # of the best score that a message must have
_EXCERPT_TOKENS, _EXCERPT_CHARS = 220, 800  # of one message; a longer one is cut to where the words stand
_MIN_LINE_TOKENS = 12  # less room than this is not worth looking for
_MAX_MISFITS = 8  # messages that have no room, after which no more are tried
_HEADING_TOKENS = 60  # title, origin and reason of a session


@dataclass(frozen=True, slots=True)
class Memory:
    """A message that a runtime is given: as much of it as is told, and why."""

    hit: SearchHit
    text: str
    words: tuple[str, ...]  # of the request that it has

    @property
    def reason(self) -> str:
        named = ", ".join(f"“{word}”" for word in self.words[:5])
        return f"it mentions {named}" if named else "it stands beside a message that fits"


class Recall:
    """Context source: excerpts of past sessions, each with session, date and reason."""

    name = "recall"
    stage: Stage = "memory"

    def __init__(self, app: PluginContext) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        if not self._app.settings["memory.recall"]:
            return ContextContribution()
        session, said = request.session, clip_request(request.said)
        if find_lowest_score(said) is None:
            return ContextContribution()
        hits = await rank_memories(self._app, said, principal=session.principal, session=session.id)
        memories = choose_memories(said, hits, request.budget)
        more = len(select_fitting(said, hits)) - len(memories)
        left_out = [f"{more} more past messages: no room"] if more else []
        by_session: dict[SessionId, list[Memory]] = {}
        for memory in memories:
            by_session.setdefault(memory.hit.session, []).append(memory)
        blocks = [_to_block(found, session.id) for found in by_session.values()]
        return to_contribution(blocks, request.budget, left_out)


def select_fitting(said: str, hits: Sequence[SearchHit]) -> list[SearchHit]:
    """Returns the hits that are worth telling; none if the best does not fit well enough."""
    lowest = find_lowest_score(said)
    if lowest is None or not hits or hits[0].score < lowest:
        return []
    return [hit for hit in hits if hit.score >= _MIN_SHARE * hits[0].score and hit.text.strip()]


def choose_memories(said: str, hits: Sequence[SearchHit], budget: int) -> list[Memory]:
    """Returns the memories worth telling that fit a token budget, best first."""
    fitting, chosen, sessions, room = select_fitting(said, hits), list[Memory](), set[SessionId](), budget
    misfits = 0
    if not fitting:
        return []
    query = RankedQuery(said, is_question=True)
    for hit in fitting:
        if room < _MIN_LINE_TOKENS or misfits == _MAX_MISFITS:
            break
        is_new = hit.session not in sessions
        if is_new and len(sessions) == MAX_SESSIONS:
            continue
        memory = to_memory(query, hit)
        cost = estimate_tokens(_to_line(memory)) + 2 + is_new * _HEADING_TOKENS
        if cost > room:
            misfits += 1
            continue
        chosen.append(memory)
        sessions.add(hit.session)
        room -= cost
    return chosen


def to_memory(query: RankedQuery, hit: SearchHit) -> Memory:
    """Cuts a long message to where the words of the request stand together."""
    counts = query.count(hit.text)[0]
    text = hit.text.strip()
    if len(text) > _EXCERPT_CHARS and estimate_tokens(text) > _EXCERPT_TOKENS:
        text = query.build_snippet(text, width=_EXCERPT_CHARS).text
    return Memory(hit, text, tuple(word.term for word, count in zip(query.words, counts, strict=True) if count))


def _to_line(memory: Memory) -> str:
    return f"{memory.hit.role}: {memory.text}"


def _to_block(memories: Sequence[Memory], asking: SessionId) -> ContextBlock:
    first = memories[0].hit
    is_here = first.session == asking
    words = dict.fromkeys(word for memory in memories for word in memory.words)
    reason = Memory(first, "", tuple(words)).reason
    title = "Earlier in this conversation" if is_here else f"From “{first.title or 'an untitled session'}”"
    ordered = sorted(memories, key=lambda memory: memory.hit.seq)
    is_foreign = any(memory.hit.imported for memory in memories)
    return ContextBlock(
        kind="recall",
        title=title,
        text="\n".join(dict.fromkeys(map(_to_line, ordered))),
        origin=f"session {first.session}, {format_day(first.timestamp)}",
        reason=reason,
        origins=() if is_here else ("private", "foreign") if is_foreign else ("private",),
        sessions=() if is_here else (first.session,),
    )


def encode_memories(memories: Iterable[Memory]) -> list[dict[str, object]]:
    """Returns memories as JSON values."""
    return [
        {"session": one.hit.session, "seq": one.hit.seq, "score": one.hit.score, "text": one.text, "reason": one.reason}
        for one in memories
    ]
