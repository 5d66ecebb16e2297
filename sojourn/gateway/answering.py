"""One message from a chat: a turn is run for it, and what the turn says goes into the outbox under the number it has
in the log. So it can be done again after a crash, and nothing is said twice."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from sojourn.core.errors import PlatformFailed
from sojourn.core.events import Chunk, Done, Failed, Progress
from sojourn.core.messages import Json, Message, calls, text_of
from sojourn.core.sessions import OWNER, Session
from sojourn.gateway.desk import Desk
from sojourn.gateway.growing import Growing
from sojourn.gateway.letters import Address
from sojourn.gateway.render import failure, question
from sojourn.ports.journal import Incoming
from sojourn.ports.platform import CanType
from sojourn.ports.service import Said, Speaker, Turn

_TRIES = 3  # how often a message is asked again after a crash cut its turn off
_TYPING = 4.0
_UNFINISHED = ("interrupted", "cancelled", "failed")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """How a turn went, as its log tells it."""

    status: str = ""
    failed: Failed | None = None
    answered: bool = False  # an assistant has had the last word
    acted: bool = False  # tools were called: doing it again might do it twice
    shown: list[str] = field(default_factory=list)  # keys of what was put into the outbox

    @property
    def was_cut_off(self) -> bool:
        """Nobody has answered, nothing was done: it can be asked again as if nothing had happened."""
        return self.status == "interrupted" and not self.answered and not self.acted


Ask = Callable[[dict[str, Json] | None], None]  # hears the question a turn asks, and None when it is settled
Reached = Callable[[str, bool], None]  # words that were meant for the running turn, and whether it heard them


class Answering:
    """Runs turns for chats and brings their answers on the way."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def answer(
        self, item: Incoming, session: Session, said: Said, by: Speaker, to: Address, *, handoff: str = "",
        asks: Ask = lambda _: None, reached: Reached = lambda *_: None, tells: bool = True,
    ) -> Outcome:  # fmt: skip
        """The turn for this message, from its beginning or from wherever a crash left it."""
        service, outcome = self._desk.service, Outcome()
        for again in range(_TRIES):
            key = f"gateway:{item.id}" + (f":{again}" if again else "")
            turn = await service.say(session.id, replace(said, key=key), by, when_busy="wait")
            await self._desk.store.note_incoming(item, seconds=self._desk.lease, session=session.id, turn=turn.id)
            outcome = await self.follow(turn, by, to, handoff=handoff, asks=asks, reached=reached, tells=tells)
            if not outcome.was_cut_off:
                return outcome
            await self._take_back(turn, by)
        return outcome

    async def _take_back(self, turn: Turn, by: Speaker) -> None:
        """What was cut off is hidden, so that the model is not asked the same thing twice."""
        live = [
            one
            for one in await self._desk.service.messages(turn.session, principal=by.principal)
            if isinstance(one.item, Message) and one.item.active and one.item.role == "user"
        ]
        if live and live[-1].turn == turn.id:
            await self._desk.service.undo(turn.session, by)

    async def follow(
        self, turn: Turn, by: Speaker, to: Address, *, handoff: str = "", asks: Ask = lambda _: None,
        reached: Reached = lambda *_: None, tells: bool = True,
    ) -> Outcome:  # fmt: skip
        """Brings what a turn says on its way, until it is over."""
        outcome, growing = Outcome(), Growing(self._desk, turn, to, handoff)
        async with (
            self._typing(to),
            aclosing(self._desk.service.watch(turn.session, after=turn.after, principal=by.principal)) as log,
        ):
            async for kept in log:
                if kept.turn != turn.id:
                    continue
                item, texts = kept.item, list[str]()
                if isinstance(item, Chunk):
                    await growing.grow(item.text)
                elif isinstance(item, Message):
                    texts = [await growing.whole(text) for text in self._said(item, outcome)]
                elif isinstance(item, Progress) and item.stage == "approval":
                    texts = _asked(item, by, asks)
                elif isinstance(item, Progress) and "steer" in item.detail:
                    reached(str(item.detail["steer"]), item.detail.get("heard") is not False)
                elif isinstance(item, Failed):
                    outcome.failed = item
                elif isinstance(item, Done):
                    outcome.status = item.status
                    if outcome.failed and tells and not outcome.was_cut_off and not outcome.answered:
                        texts = [failure(outcome.failed)]
                for text in texts:
                    drafts = self._desk.drafts(to, kept.public_id, text, handoff=handoff)
                    outcome.shown += [one.key for one in drafts]
                    await self._desk.store.put_outgoing(drafts)
                if isinstance(item, Done):
                    asks(None)
                    return outcome
        return outcome

    def _said(self, message: Message, outcome: Outcome) -> list[str]:
        if message.role == "tool":
            outcome.answered = False
        if message.role != "assistant":
            return []
        outcome.acted |= bool(calls(message))
        text, whole = text_of(message).strip(), message.finish_reason not in _UNFINISHED
        outcome.answered = bool(text) and whole and not calls(message)
        return [text] if text and whole else []

    @asynccontextmanager
    async def _typing(self, to: Address) -> AsyncIterator[None]:
        """Shows that an answer is being written, where the network can show that."""
        line = self._desk.lines.get((to.platform, to.account))
        if line is None or not isinstance(line.adapter, CanType):
            yield
            return
        adapter: CanType = line.adapter

        async def show() -> None:
            with suppress(PlatformFailed):  # nobody misses it
                while True:
                    await adapter.typing(to.place)
                    await asyncio.sleep(_TYPING)

        showing = asyncio.create_task(show())
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


def _asked(progress: Progress, by: Speaker, asks: Ask) -> list[str]:
    detail = dict(progress.detail)
    if detail.get("status") != "asked":
        asks(None)
        return []
    asks(detail)
    return [question(detail, for_owner=by.principal == OWNER)]
