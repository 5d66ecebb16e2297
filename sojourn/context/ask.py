"""Questions to the history: an answer whose every sentence stands on quotes that are in the log word for word.

Without a model the quotes are the answer. With one, a sentence of its answer that names no quote is left out.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import aclosing

from sojourn.context.recall_rank import clip_request, format_day, rank_memories
from sojourn.core.errors import NotFound, SojournError
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.app import AgentContext
from sojourn.ports.runtime import CanComplete
from sojourn.ports.store import SearchHit
from sojourn.text.cited_answer import NOT_FOUND, SENTENCE_END, Answer, Quote, parse_answer
from sojourn.text.rank import RankedQuery

logger = logging.getLogger(__name__)

MAX_QUOTES = 16  # messages
_MAX_QUOTE_CHARS = 400
_MIN_SCORE = 0.2  # of the best message; calibrated on questions with and without an answer
_MIN_SHARE = 0.35  # of the best score that a quoted message must have
_ABOUT_ANOTHER_SHARE = 0.95  # of what the named speaker said that others must have said
_SPEAKER_MESSAGES = 60  # best messages that show who speaks of the matter
_MODEL_RUNTIME = "native"  # words answers, where a model is configured
_MODEL_SECONDS, _ANSWER_TOKENS = 60.0, 600
_SPEAKER = re.compile(r"^([^\W\d_][\w .'-]{0,30}): ")
_INSTRUCTIONS = (
    "You answer a question from quotes of past conversations, and from nothing else. Write at most four short "
    "sentences. "
    "End each sentence with the numbers of the quotes it stands on, as [1] or [2, 3]. "
    "If the quotes do not answer the question, write only: NOT IN THE QUOTES"
)


async def ask_history(
    app: AgentContext, question: str, *, principal: Principal = OWNER, runtime: str = _MODEL_RUNTIME
) -> Answer:
    """Answers a question from what was said. `runtime`: who words the answer, if it can; "" quotes only."""
    question = clip_request(question)
    hits = await rank_memories(app, question, principal=principal, wait=True)
    if not hits or hits[0].score < _MIN_SCORE:
        return Answer(found=False, text=NOT_FOUND)
    query = RankedQuery(question, is_question=True)
    if _is_about_another(question, query, hits):
        return Answer(found=False, text=NOT_FOUND)
    fitting = [hit for hit in hits if hit.score >= _MIN_SHARE * hits[0].score]
    quotes = [quote for hit in fitting[:MAX_QUOTES] if (quote := await _quote(app, query, hit))]
    if not quotes:
        return Answer(found=False, text=NOT_FOUND)
    if runtime and (written := await _word_answer(app, question, quotes, runtime)) is not None:
        return written
    return Answer(found=True, text=quotes[0].text, quotes=tuple(quotes))


def _is_about_another(question: str, query: RankedQuery, hits: Sequence[SearchHit]) -> bool:
    """Whether the question names one speaker, and statements of the others have about as many of its words, or more.

    Names do not count: who is spoken to, or speaks, is no sign of what is spoken of. Neither do questions: they have
    the words of what the person who is asked answers.
    """
    spoken = [(found[1] if (found := _SPEAKER.match(hit.text)) else "", hit.text) for hit in hits]
    speakers = {speaker for speaker, _ in spoken if speaker}
    named = {name for name in speakers if re.search(rf"\b{re.escape(name)}\b", question)}
    if len(named) != 1 or len(speakers) < 2:
        return False
    counted = [query.count(text)[0] for _, text in spoken]
    query.set_frequencies([sum(map(bool, column)) for column in zip(*counted, strict=True)], len(counted))
    parts = {part for name in speakers for part in name.lower().split()}
    weights = [rarity * (word.term not in parts) for rarity, word in zip(query.rarities, query.words, strict=True)]
    theirs, others = list[float](), list[float]()
    for (speaker, text), counts in list(zip(spoken, counted, strict=True))[:_SPEAKER_MESSAGES]:
        value = sum(weight for weight, count in zip(weights, counts, strict=True) if count)
        if speaker in named:
            theirs.append(value)
        elif speaker and "?" not in text:
            others.append(value)
    return 0 < _weigh_best(others) >= _ABOUT_ANOTHER_SHARE * _weigh_best(theirs)


def _weigh_best(values: Sequence[float]) -> float:
    """The best statement, and of each of the next two half of what the one before counts."""
    shares = (1.0, 0.5, 0.25)
    return sum(share * value for share, value in zip(shares, sorted(values, reverse=True), strict=False))


async def _quote(app: AgentContext, query: RankedQuery, hit: SearchHit) -> Quote | None:
    """Returns the part of a message that answers best, if the log has it word for word."""
    wanted = _choose_part(query, hit.text.strip())
    if not wanted or wanted not in await _read_text(app, hit):
        return None
    return Quote(
        session=hit.session,
        seq=hit.seq,
        role=hit.role,
        title=hit.title or "",
        day=format_day(hit.timestamp),
        score=hit.score,
        text=wanted,
    )


def _choose_part(query: RankedQuery, text: str) -> str:
    """Returns a whole short text, or the sentences of a long one that have the most words of the question."""
    if len(text) <= _MAX_QUOTE_CHARS:
        return text
    best, at = -1.0, 0
    sentences = [part for part in SENTENCE_END.split(text) if part.strip()] or [text]
    for number, sentence in enumerate(sentences):
        counts, _, phrases = query.count(sentence)
        if (value := sum(count > 0 for count in counts) + phrases) > best:
            best, at = value, number
    return sentences[at].strip()[:_MAX_QUOTE_CHARS].strip()


async def _read_text(app: AgentContext, hit: SearchHit) -> str:
    try:
        async with aclosing(app.store.read(hit.session, after=hit.seq - 1, messages_only=True)) as log:
            async for kept in log:
                if kept.seq == hit.seq and isinstance(kept.item, Message):
                    return text_of(kept.item)
                return ""
    except NotFound:  # deleted meanwhile
        pass
    return ""


async def _word_answer(app: AgentContext, question: str, quotes: Sequence[Quote], runtime: str) -> Answer | None:
    """Lets a runtime word the answer; None if it cannot."""
    shown = "\n".join(f"[{number}] {one.day}, {one.role}: {one.text}" for number, one in enumerate(quotes, 1))
    try:
        found = app.runtime(runtime)
        if not isinstance(found, CanComplete) or not (await found.ready()).ok:
            return None
        async with asyncio.timeout(_MODEL_SECONDS):
            said = await found.complete(
                _INSTRUCTIONS, f"Quotes:\n{shown}\n\nQuestion: {question}", most_tokens=_ANSWER_TOKENS
            )
    except (SojournError, TimeoutError) as error:
        logger.info("%s does not answer from the history: %s", runtime, error)
        return None
    if "NOT IN THE QUOTES" in said.upper():
        return Answer(found=False, text=NOT_FOUND, written_by=runtime)
    return parse_answer(said, quotes, runtime)
