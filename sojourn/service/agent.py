"""AgentService: from words to a prepared request, always in this order.

conversation, message and files → memory → skill shortlist → template → task graph → runtime request context.
A runtime is told all of it and asks for nothing else.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from sojourn.core.attachments import Attachment
from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Session
from sojourn.core.template_examples import render_examples
from sojourn.ports.app import HasStore
from sojourn.ports.context import CONTEXT_STAGES, ContextBlock, ContextContribution, ContextRequest, ContextSource
from sojourn.ports.runtime import HasOwnTools, HistoryEntry, Runtime, TurnInput
from sojourn.service.begun import Begun
from sojourn.service.hearing import Hearing
from sojourn.service.keeping import STATE
from sojourn.service.loading import Loading
from sojourn.service.log import Pen
from sojourn.service.spending import Spending
from sojourn.service.workspace import TurnWorkspace, root_of
from sojourn.text.token_count import estimate_tokens

SOURCE_SECONDS = 1.0  # a source answers within this, or the turn goes on without it
SOURCE_TOKENS = 2000
LEARN_SECONDS = 120.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the runtime is told, and what the sources looked at."""

    turn: TurnInput
    request: ContextRequest


class AgentService:
    """Prepares turns."""

    def __init__(self, kit: HasStore, loading: Loading, spending: Spending) -> None:
        self._kit, self._loading, self._spending = kit, loading, spending

    async def prepare(self, begun: Begun, session: Session, runtime: Runtime, pen: Pen, hearing: Hearing) -> Prepared:
        past = await self.history(begun)
        tools = tuple(tool for tool in await self._loading.tools() if tool.for_whom(session.principal))
        request = ContextRequest(
            session=session,
            said=begun.said.text,
            history=tuple(one.message for one in past),
            runtime=runtime.name,
            tools=() if isinstance(runtime, HasOwnTools) else tuple(tool.name for tool in tools),
            drop=begun.said.drop,
            template=begun.said.template,
            budget=SOURCE_TOKENS,
        )
        purse, state = await self._spending.purse(begun.session, begun.id), await self._state(begun)
        given = await self._gather(request, pen)
        examples = tuple(message for one in given for message in one.examples)
        blocks = [block for one in given for block in one.blocks]
        if examples and not runtime.takes_tool_history:
            blocks, examples = [*blocks, _told(examples)], ()
        turn = TurnInput(
            session=session,
            turn=begun.id,
            said=begun.said.text,
            internal=begun.said.internal,
            attachments=begun.said.attachments,
            history=past,
            blocks=tuple(blocks),
            examples=examples,
            graph=next((one.graph for one in given if one.graph), None),
            tools=tools,
            workspace=self._workspace(session, begun, pen, hearing),
            model=begun.model,
            state=state,
            read_attachment=self._reader(session),
            ask=hearing.ask,
            steered=hearing.steered,
            may_spend=purse.may_spend,
        )
        return Prepared(turn, request)

    async def history(self, begun: Begun) -> tuple[HistoryEntry, ...]:
        """The live transcript before this request. A summary stands where the first of what it replaced stood."""
        live: list[tuple[int, HistoryEntry]] = []
        async with aclosing(self._kit.store.read(begun.session, messages_only=True)) as log:
            async for kept in log:
                if kept.seq > begun.after:
                    break
                if isinstance(kept.item, Message) and kept.item.active:
                    live.append((summary_place(kept.item) or kept.seq, HistoryEntry(kept.seq, kept.item)))
        return tuple(past for _, past in sorted(live, key=lambda one: one[0]))

    async def _gather(self, request: ContextRequest, pen: Pen) -> list[ContextContribution]:
        """One stage after the other, the sources of a stage at once."""
        started, given = time.monotonic(), list[ContextContribution]()
        sources = await self._loading.context()
        for stage in CONTEXT_STAGES:
            asked = [one for one in sources if one.stage == stage and one.name not in request.drop]
            answers = await asyncio.gather(*(self._ask(one, request, pen) for one in asked))
            if stage == "template" and request.template == "none":
                continue  # they were told, to remember that none is wanted
            for contribution in answers:
                await pen(*contribution.shown)
                given.append(contribution)
        blocks = [block for one in given for block in one.blocks]
        shown: dict[str, Json] = {
            "blocks": [
                {"kind": one.kind, "title": one.title, "origin": one.origin, "reason": one.reason, "tokens": one.tokens}
                for one in blocks
            ],
            "tokens": sum(one.tokens for one in blocks),
            "left_out": [words for one in given for words in one.left_out],
            "seconds": round(time.monotonic() - started, 3),
        }
        await pen(Progress("prepare", shown))
        return given

    async def _ask(self, source: ContextSource, request: ContextRequest, pen: Pen) -> ContextContribution:
        """What a source brings within its time and budget; why it brings nothing is shown and never fails the turn."""
        try:
            async with asyncio.timeout(SOURCE_SECONDS):
                return within(await source.contribute(request), request.budget)
        except TimeoutError:
            problem = f"{source.name} took longer than {SOURCE_SECONDS:g} seconds."
        except SojournError as error:
            problem = str(error)
        except Exception as error:  # the edge of a turn: a source of a stranger may raise anything
            logger.exception("context source %s failed", source.name)
            problem = f"{type(error).__name__}: {error}"
        logger.warning("session %s goes on without %s: %s", request.session.id, source.name, problem)
        await pen(Progress("prepare", {"source": source.name, "problem": problem}))
        return ContextContribution()

    async def learn(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None:
        """Lets sources look at a turn that is over."""
        for source in await self._loading.learners():
            try:
                async with asyncio.timeout(LEARN_SECONDS):
                    await source.after(request, kept, status)
            except Exception:  # the edge of a turn: what comes after it cannot fail it
                logger.exception("context source %r could not learn from a turn", source)

    # the rest of the input
    async def _state(self, begun: Begun) -> dict[str, Json]:
        found = await self._kit.store.get_record(STATE, f"{begun.session}/{begun.runtime}")
        return dict(found.value) if found else {}

    def _workspace(self, session: Session, begun: Begun, pen: Pen, hearing: Hearing) -> TurnWorkspace:
        settings = self._kit.settings
        return TurnWorkspace(
            root=root_of(session, begun.said.cwd, settings),
            session=session.id,
            turn=begun.id,
            principal=session.principal,
            seconds=float(settings["tools.seconds"]),
            most=int(settings["tools.most"]),
            hearing=hearing,
            pen=pen,
        )

    def _reader(self, session: Session) -> Callable[[Attachment], Awaitable[bytes]]:
        async def read(attachment: Attachment) -> bytes:
            return (await self._kit.store.get_blob(session.id, attachment.hash))[0]

        return read


def within(given: ContextContribution, budget: int) -> ContextContribution:
    """What fits into the budget, in the order the source gave it; the rest is named."""
    blocks, left, room = list[ContextBlock](), list(given.left_out), budget
    for block in given.blocks:
        tokens = block.tokens or estimate_tokens(block.text)
        if tokens > room:
            left.append(f"{block.title}: {tokens} tokens, and {room} were left")
            continue
        room -= tokens
        blocks.append(replace(block, tokens=tokens))
    return replace(given, blocks=tuple(blocks), left_out=tuple(left))


def summary_place(message: Message) -> int:
    """Where a summary belongs: the number of the first message it replaced; 0 for any other message."""
    try:
        place = json.loads(message.extra or "{}").get("summary_of")
        return int(place[0])
    except (ValueError, TypeError, AttributeError, IndexError):
        return 0


def _told(examples: Sequence[Message]) -> ContextBlock:
    """Earlier tool work in words, for a runtime that takes no foreign tool history."""
    text = "Examples only; none of this happened in this conversation.\n\n" + render_examples(examples)
    return ContextBlock(
        kind="template",
        title="How similar work was done before",
        text=text,
        origin="a template",
        reason="this runtime takes examples as words",
        tokens=estimate_tokens(text),
    )
