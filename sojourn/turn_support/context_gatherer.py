"""Context gatherer: asks the context sources of a turn within their limits, and shows them how it ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import cast

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Message
from sojourn.core.progress import PrepareDetail
from sojourn.ports.app import HasStore
from sojourn.ports.context import (
    CONTEXT_STAGES,
    CanLearn,
    ContextBlock,
    ContextContribution,
    ContextRequest,
    ContextSource,
)
from sojourn.text.template_examples import render_examples
from sojourn.text.token_count import estimate_tokens
from sojourn.turn_support.given_context import GivenContext
from sojourn.turn_support.plugin_cache import PluginCache

SOURCE_SECONDS = 1.0  # a slower context source is left out of the turn
FIRST_SECONDS = 5.0  # the same when a source is asked for the first time: it may have to load what it needs
LEARN_SECONDS = 120.0

Show = Callable[..., Awaitable[None]]  # takes progress events

logger = logging.getLogger(__name__)


class ContextGatherer:
    """The context sources of all plugins, as a turn sees them."""

    def __init__(self, app: HasStore, plugins: PluginCache) -> None:
        self._plugins = plugins
        self.given = GivenContext(app)
        self._asked: set[str] = set()  # names of the sources that have loaded what they need
        self._can_learn: dict[type[ContextSource], bool] = {}  # a check of a protocol costs as much as a statement

    async def gather(self, request: ContextRequest, show: Show, *, takes_examples: bool) -> ContextContribution:
        """Asks stage by stage, the sources of one stage concurrently; returns all that they gave as one contribution.

        show: receives what people may see of it. takes_examples: else examples become a block of text.
        """
        started, given = time.monotonic(), list[ContextContribution]()
        sources = () if "*" in request.drop else await self._plugins.context()
        for stage in CONTEXT_STAGES:
            asked = [one for one in sources if one.stage == stage and one.name not in request.drop]
            if not asked:
                continue
            answers = await asyncio.gather(*(self._ask(one, request, show) for one in asked))
            if stage == "template" and request.template == "none":
                continue  # the sources were asked so that they remember that none is wanted
            for contribution in answers:
                await show(*contribution.shown)
                given.append(contribution)
        gathered = ContextContribution(
            blocks=tuple(block for one in given for block in one.blocks),
            examples=tuple(message for one in given for message in one.examples),
            graph=next((one.graph for one in given if one.graph), None),
            left_out=tuple(words for one in given for words in one.left_out),
        )
        await show(Progress("prepare", _to_detail(gathered, time.monotonic() - started)))
        if not gathered.examples or takes_examples:
            return gathered
        return replace(gathered, blocks=(*gathered.blocks, _to_text_block(gathered.examples)), examples=())

    async def _ask(self, source: ContextSource, request: ContextRequest, show: Show) -> ContextContribution:
        """Asks one source within its time and budget. A failure is shown as progress and never fails the turn."""
        seconds = SOURCE_SECONDS if source.name in self._asked else FIRST_SECONDS
        try:
            async with asyncio.timeout(seconds):
                return fit_budget(await source.contribute(request), request.budget)
        except TimeoutError:
            problem = f"{source.name} took longer than {seconds:g} seconds."
        except SojournError as error:
            problem = str(error)
        except Exception as error:  # the edge of a turn: a source of a stranger may raise anything
            logger.exception("context source %s failed", source.name)
            problem = f"{type(error).__name__}: {error}"
        finally:
            self._asked.add(source.name)
        logger.warning("session %s goes on without %s: %s", request.session.id, source.name, problem)
        await show(Progress("prepare", PrepareDetail(source=source.name, problem=problem)))
        return ContextContribution()

    async def learn(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None:
        """Shows a finished turn to the sources that learn."""
        for source in await self._plugins.context():
            kind = type(source)
            if kind not in self._can_learn:
                self._can_learn[kind] = isinstance(source, CanLearn)
            if {source.name, "*"} & set(request.drop) or not self._can_learn[kind]:
                continue
            try:
                async with asyncio.timeout(LEARN_SECONDS):
                    await cast(CanLearn, source).after(request, kept, status)
            except Exception:  # the edge of a turn: what comes after it cannot fail it
                logger.exception("context source %r could not learn from a turn", source)


def fit_budget(given: ContextContribution, budget: int) -> ContextContribution:
    """Drops the blocks that exceed the budget and names them in `left_out`."""
    blocks, left, room = list[ContextBlock](), list(given.left_out), budget
    for block in given.blocks:
        tokens = block.tokens or estimate_tokens(block.text)
        if tokens > room:
            left.append(f"{block.title}: {tokens} tokens, and {room} were left")
            continue
        room -= tokens
        blocks.append(replace(block, tokens=tokens))
    return replace(given, blocks=tuple(blocks), left_out=tuple(left))


def _to_detail(gathered: ContextContribution, seconds: float) -> PrepareDetail:
    return {
        "blocks": [
            {"kind": one.kind, "title": one.title, "origin": one.origin, "reason": one.reason, "tokens": one.tokens}
            for one in gathered.blocks
        ],
        "tokens": sum(one.tokens for one in gathered.blocks),
        "left_out": list(gathered.left_out),
        "seconds": round(seconds, 3),
    }


def _to_text_block(examples: Sequence[Message]) -> ContextBlock:
    """Examples as text, for a runtime that takes no tool history of others."""
    text = "Examples only; none of this happened in this conversation.\n\n" + render_examples(examples)
    return ContextBlock(
        kind="template",
        title="How similar work was done before",
        text=text,
        origin="a template",
        reason="this runtime takes examples as words",
        tokens=estimate_tokens(text),
    )
