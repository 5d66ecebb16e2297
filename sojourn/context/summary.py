"""Conversation summary: updated in the background after a turn, used when the conversation is long.

A summary is a record of kind `summary` under the session's id. It stores how many messages it covers, and their hash:
once one of them is undone or compacted, the summary is invalid and is not used.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import log

from sojourn.context.budget import to_contribution
from sojourn.core.errors import SojournError
from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.ports.app import AgentContext
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.runtime import CanComplete
from sojourn.ports.store import Record
from sojourn.text.token_count import MAX_TOKENS_OF_CHARACTER, estimate_tokens, truncate_to_tokens
from sojourn.text.tokenizer import stem_words

KIND = "summary"
SUMMARY_TOKENS = 500
RECENT_MESSAGES = 6  # the newest ones, which are not summarised
REFRESH_AFTER_MESSAGES = 6  # new ones since the last summary
MODEL_SECONDS = 60.0
_MODEL_INPUT_TOKENS = 6000
_INLINE_CHARS = 10_000
_INSTRUCTIONS = (
    "Bring the summary of this conversation up to date. Keep decisions, facts, names, numbers, file paths and what is "
    "still open; leave out greetings. Plain sentences, at most 300 words, in the language of the conversation."
)
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_MAX_REQUEST_TOKENS = 40  # of one request

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Summary of the first `covers` messages of a conversation."""

    text: str
    covers: int
    mark: str  # hash of those messages
    by: str  # a runtime's name, or "extract"

    def is_valid_for(self, history: Sequence[Message]) -> bool:
        return 0 < self.covers <= len(history) and self.mark == hash_messages(history[: self.covers])


class ConversationSummary:
    """Context source: the summary of a conversation that is longer than `memory.summary_tokens`."""

    name = "summary"
    stage: Stage = "memory"

    def __init__(self, app: AgentContext) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        length = await _count_tokens(request.history, least=int(self._app.settings["memory.summary_tokens"]))
        if not length:
            return ContextContribution()
        summary = await self._load(request)
        if summary is None or not summary.is_valid_for(request.history):
            return ContextContribution()
        by = "its main sentences" if summary.by == "extract" else f"written by {summary.by}"
        block = ContextBlock(
            kind=KIND,
            title="The conversation so far",
            text=summary.text,
            origin=f"the first {summary.covers} messages of session {request.session.id}, {by}",
            reason=f"the conversation is long (about {length} tokens)",
        )
        return to_contribution([block], request.budget)

    async def after(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None:
        """Updates the summary after enough new messages, from half of `memory.summary_tokens` on."""
        least = int(self._app.settings["memory.summary_tokens"]) // 2
        if status != "completed" or not await _count_tokens([*request.history, *kept], least=least):
            return
        old = await self._load(request)
        older = request.history[:-RECENT_MESSAGES]
        is_valid = old is not None and old.is_valid_for(request.history)
        if not older or (old is not None and is_valid and len(older) - old.covers < REFRESH_AFTER_MESSAGES):
            return
        new = await self.build(request, older, old if is_valid else None)
        session = request.session
        await self._app.store.put_record(
            Record(kind=KIND, key=session.id, value=asdict(new), principal=session.principal, session=session.id)
        )

    async def _load(self, request: ContextRequest) -> Summary | None:
        record = await self._app.store.get_record(KIND, request.session.id)
        value = record.value if record else None
        if not isinstance(value, dict) or not isinstance(value.get("covers"), int):
            return None
        texts = {name: str(value.get(name, "")) for name in ("text", "mark", "by")}
        return Summary(covers=value["covers"], **texts)

    async def build(self, request: ContextRequest, older: Sequence[Message], before: Summary | None) -> Summary:
        """Summarises messages, by the runtime of the request if that can; `before` covers the first of them."""
        model = await self._find_model(request.runtime)
        if model is not None:
            new = older[before.covers :] if before else older
            text = f"Summary so far:\n{before.text if before else '(none)'}\n\nSince then:\n{_render_messages(new)}"
            try:
                async with asyncio.timeout(MODEL_SECONDS):
                    completed = (await model.complete(_INSTRUCTIONS, text, most_tokens=SUMMARY_TOKENS)).strip()
                if completed:
                    return _summary(truncate_to_tokens(completed, SUMMARY_TOKENS), older, by=request.runtime)
            except (SojournError, TimeoutError) as error:
                logger.info("session %s is summarised without a model: %s", request.session.id, error)
        text = await asyncio.to_thread(extract_summary, older, SUMMARY_TOKENS)
        return _summary(text, older, by="extract")

    async def _find_model(self, runtime: str) -> CanComplete | None:
        """Returns the runtime of the turn, if it can complete text and the settings allow it."""
        if not self._app.settings["memory.model_summaries"] or not runtime:
            return None
        try:
            found: object = self._app.runtime(runtime)
            if isinstance(found, CanComplete) and (await self._app.runtime(runtime).ready()).ok:
                return found
        except SojournError as error:
            logger.info("%s cannot summarise: %s", runtime, error)
        return None


def hash_messages(messages: Sequence[Message]) -> str:
    digest = sha256()
    for one in messages:
        digest.update(f"{one.role}\0{one.content or ''}\0{one.tool_calls or ''}\1".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _summary(text: str, older: Sequence[Message], *, by: str) -> Summary:
    return Summary(text=text, covers=len(older), mark=hash_messages(older), by=by)


def _sum_tokens(texts: Sequence[str]) -> int:
    return sum(map(estimate_tokens, texts))


async def _count_tokens(messages: Sequence[Message], *, least: int) -> int:
    """Counts the tokens of messages; 0 if they have fewer than `least`, which their length alone mostly shows."""
    texts = [text_of(one) for one in messages]
    size = sum(map(len, texts))
    if MAX_TOKENS_OF_CHARACTER * size < least:
        return 0
    is_short = size < _INLINE_CHARS  # passing it to a thread would cost more
    tokens = _sum_tokens(texts) if is_short else await asyncio.to_thread(_sum_tokens, texts)
    return tokens if tokens >= least else 0


def _render_messages(messages: Sequence[Message]) -> str:
    """Renders messages within the model's budget, newest first; truncates tool results the most."""
    lines = [
        f"{one.role}: {truncate_to_tokens(text_of(one), 60 if one.role == 'tool' else 400)}"
        for one in messages
        if text_of(one)
    ]
    return "\n".join(reversed(_take_lines(lines[::-1], _MODEL_INPUT_TOKENS)))


# without a model: the requests, and the highest-ranked sentences of the answers
def split_sentences(text: str) -> list[str]:
    """Returns the sentences of a text, without code blocks."""
    plain = re.sub(r"```.*?(```|$)", " ", text, flags=re.DOTALL)
    parts = (hit[0].strip(" \t#*->|") for hit in _SENTENCE.finditer(plain))
    return [one for one in parts if len(stem_words(one)) >= 2]


def extract_summary(messages: Sequence[Message], max_tokens: int) -> str:
    """Summarises a conversation in at most `max_tokens`: half for the requests, half for sentences of the answers."""
    requests = [
        truncate_to_tokens(" ".join(text_of(one).split()), _MAX_REQUEST_TOKENS)
        for one in messages
        if one.role == "user" and text_of(one)
    ]
    used = Counter(call.name for one in messages for call in tool_calls_of(one))
    head = _take_lines([f"- {one}" for one in reversed(requests)], max_tokens // 2)[::-1]
    tail = _main_sentences(messages, max_tokens - estimate_tokens("\n".join(head)) - 40)
    parts = ["Asked so far:", *head]
    if tail:
        parts += ["Main points of the answers:", *(f"- {one}" for one in tail)]
    if used:
        parts.append("Tools used: " + ", ".join(f"{name} ×{times}" for name, times in used.most_common(8)))
    return truncate_to_tokens("\n".join(parts), max_tokens)


def _take_lines(lines: Sequence[str], room: int) -> list[str]:
    """Returns the first lines that fit, line breaks included."""
    kept: list[str] = []
    for line in lines:
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _main_sentences(messages: Sequence[Message], room: int) -> list[str]:
    """Returns the sentences with the most significant words of this conversation, in their order."""
    answers = [text_of(one) for one in messages if one.role == "assistant"]
    sentences = list(dict.fromkeys(sentence for text in answers for sentence in split_sentences(text)))
    counts = Counter(word for sentence in sentences for word in set(stem_words(sentence)))
    weights = {word: times * log(1 + len(sentences) / times) for word, times in counts.items()}

    def weight(sentence: str) -> float:
        found = set(stem_words(sentence))
        return sum(weights[word] for word in found) / (5 + len(found))

    chosen = set(_take_lines(sorted(sentences, key=weight, reverse=True), room))
    return [sentence for sentence in sentences if sentence in chosen]
