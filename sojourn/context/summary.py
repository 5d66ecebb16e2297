"""The conversation summary: rolling, made in the background after a turn, used when the conversation is long.

It is a record of kind `summary` under the session's id, gone with the session. It knows which messages it covers
(how many, and their hash): once one of them was undone or compacted, it no longer fits and is not shown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from sojourn.context.budget import packed
from sojourn.context.extractive_summary import extract
from sojourn.core.budget import estimate_tokens, truncate_to_tokens
from sojourn.core.errors import SojournError
from sojourn.core.messages import Message, text_of
from sojourn.ports.context import ContextBlock, Contribution, Request, Stage
from sojourn.ports.kit import Kit
from sojourn.ports.records import Record
from sojourn.ports.runtime import Summarises

KIND = "summary"
LENGTH = 500  # tokens of a summary
RECENT = 6  # messages at the end that speak for themselves
EVERY = 6  # new messages after which it is made again
MODEL_SECONDS = 60.0
_FOR_MODEL = 6000  # tokens a model is given at once
_INSTRUCTIONS = (
    "Bring the summary of this conversation up to date. Keep decisions, facts, names, numbers, file paths and what is "
    "still open; leave out greetings. Plain sentences, at most 300 words, in the language of the conversation."
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the first `covers` messages of a conversation come to."""

    text: str
    covers: int
    mark: str  # hash of those messages
    by: str  # a runtime's name, or "extract"

    def fits(self, history: Sequence[Message]) -> bool:
        return 0 < self.covers <= len(history) and self.mark == mark_of(history[: self.covers])


class ConversationSummary:
    """Shown from `memory.summary_tokens` on, brought up to date after turns."""

    name = "summary"
    stage: Stage = "memory"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def contribute(self, request: Request) -> Contribution:
        length = await asyncio.to_thread(_length, request.history)
        if length < int(self._kit.settings["memory.summary_tokens"]):
            return Contribution()
        summary = await self._kept(request)
        if summary is None or not summary.fits(request.history):
            return Contribution()
        by = "its main sentences" if summary.by == "extract" else f"written by {summary.by}"
        block = ContextBlock(
            kind=KIND,
            title="The conversation so far",
            text=summary.text,
            origin=f"the first {summary.covers} messages of session {request.session.id}, {by}",
            reason=f"the conversation is long (about {length} tokens)",
        )
        return packed([block], request.budget)

    async def after(self, request: Request, kept: Sequence[Message], status: str) -> None:
        """Makes the summary again when enough was said since; half the length is early enough."""
        length = await asyncio.to_thread(_length, [*request.history, *kept])
        if status != "completed" or length < int(self._kit.settings["memory.summary_tokens"]) / 2:
            return
        old = await self._kept(request)
        older = request.history[:-RECENT]
        is_valid = old is not None and old.fits(request.history)
        if not older or (old is not None and is_valid and len(older) - old.covers < EVERY):
            return
        new = await self._made(request, older, old if is_valid else None)
        value = {"text": new.text, "covers": new.covers, "mark": new.mark, "by": new.by}
        session = request.session
        await self._kit.store.put_record(
            Record(kind=KIND, key=session.id, value=value, principal=session.principal, session=session.id)
        )

    async def _kept(self, request: Request) -> Summary | None:
        record = await self._kit.store.get_record(KIND, request.session.id)
        value = record.value if record else None
        if not isinstance(value, dict) or not isinstance(value.get("covers"), int):
            return None
        return Summary(
            text=str(value.get("text", "")),
            covers=value["covers"],
            mark=str(value.get("mark", "")),
            by=str(value.get("by", "")),
        )

    async def _made(self, request: Request, older: Sequence[Message], before: Summary | None) -> Summary:
        model = await self._model(request.runtime)
        if model is not None:
            new = older[before.covers :] if before else older
            text = f"Summary so far:\n{before.text if before else '(none)'}\n\nSince then:\n{_told(new)}"
            try:
                async with asyncio.timeout(MODEL_SECONDS):
                    written = (await model.complete(_INSTRUCTIONS, text, most_tokens=LENGTH)).strip()
                if written:
                    return _summary(truncate_to_tokens(written, LENGTH), older, by=request.runtime)
            except (SojournError, TimeoutError) as error:
                logger.info("session %s is summarised without a model: %s", request.session.id, error)
        text = await asyncio.to_thread(extract, older, LENGTH)
        return _summary(text, older, by="extract")

    async def _model(self, runtime: str) -> Summarises | None:
        """The runtime of the turn, if it can answer a plain question and may."""
        if not self._kit.settings["memory.model_summaries"] or not runtime:
            return None
        try:
            found: object = self._kit.runtime(runtime)
            if isinstance(found, Summarises) and (await self._kit.runtime(runtime).ready()).ok:
                return found
        except SojournError as error:
            logger.info("%s cannot summarise: %s", runtime, error)
        return None


def make(kit: Kit) -> ConversationSummary:
    return ConversationSummary(kit)


def mark_of(messages: Sequence[Message]) -> str:
    """The same for the same messages in the same order."""
    digest = sha256()
    for one in messages:
        digest.update(f"{one.role}\0{one.content or ''}\0{one.tool_calls or ''}\1".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _summary(text: str, older: Sequence[Message], *, by: str) -> Summary:
    return Summary(text=text, covers=len(older), mark=mark_of(older), by=by)


def _length(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(text_of(one)) for one in messages)


def _told(messages: Sequence[Message]) -> str:
    """What was said, the newest in full as far as there is room, tool results only at their beginning."""
    lines = [
        f"{one.role}: {truncate_to_tokens(text_of(one), 60 if one.role == 'tool' else 400)}"
        for one in messages
        if text_of(one)
    ]
    kept: list[str] = []
    room = _FOR_MODEL
    for line in reversed(lines):
        room -= estimate_tokens(line)
        if room < 0:
            break
        kept.append(line)
    return "\n".join(reversed(kept))
