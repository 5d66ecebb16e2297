"""One message from a chat: a turn is run for it, and what the turn says goes into the outbox under the number it has
in the log. So it can be done again after a crash, and nothing is said twice."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from sojourn.core.errors import SessionBusy
from sojourn.core.events import Chunk, Done, Failed, Progress
from sojourn.core.messages import Json, Message, tool_calls_of
from sojourn.core.sessions import Session, TurnId
from sojourn.gateway.approval_prompts import ApprovalPrompts
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import InboundPayload, ReplyTarget, decode_inbound
from sojourn.gateway.presence import PresenceSignals
from sojourn.gateway.render import failure_text
from sojourn.gateway.streaming_message import StreamingMessage
from sojourn.gateway.turn_files import file_drafts, words_of
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.service import Caller, Turn, TurnRequest

_TRIES = 10  # how often a message is asked again after a crash cut its turn off
_UNFINISHED = ("interrupted", "cancelled", "failed")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnOutcome:
    """How a turn went, as its log tells it."""

    turn: TurnId | None = None
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


class TurnRunner:
    """Runs turns for chats and brings their answers on the way."""

    def __init__(self, desk: GatewayContext) -> None:
        self._desk, self._signs = desk, PresenceSignals(desk)

    async def answer(
        self,
        item: Incoming,
        session: Session,
        said: TurnRequest,
        by: Caller,
        to: ReplyTarget,
        *,
        handoff: str = "",
        asks: Ask = lambda _: None,
        reached: Reached = lambda *_: None,
        tells: bool = True,
    ) -> TurnOutcome:
        """The turn for this message, from its beginning or from wherever a crash left it."""
        service, outcome = self._desk.service, TurnOutcome()
        for again in range(_TRIES):
            key = (f"handoff:{handoff}" if handoff else f"gateway:{item.id}") + (f":{again}" if again else "")
            turn = await service.say(session.id, replace(said, key=key), by, when_busy="wait")
            if item.session != session.id:
                item = await self._desk.store.update_incoming(
                    item, seconds=self._desk.lease, session=session.id, turn=turn.id
                )
            outcome = await self.follow(
                turn, by, to, handoff=handoff, asks=asks, reached=reached, tells=tells, heard=decode_inbound(item)
            )
            if not outcome.was_cut_off:
                return outcome
            item = await self._desk.store.update_incoming(item, seconds=self._desk.lease)  # it is still ours
            await self._take_back(turn, by)
        if tells and outcome.failed:  # it is not asked for ever: what ends us each time must not do so again
            await self._desk.tell(to, f"in:{item.id}:cut", failure_text(outcome.failed))
        return outcome

    async def _take_back(self, turn: Turn, by: Caller) -> None:
        """What was cut off is hidden, so that the model is not asked the same thing twice."""
        live = [
            one
            for one in await self._desk.service.messages(turn.session, principal=by.principal)
            if isinstance(one.item, Message) and one.item.active and one.item.role == "user"
        ]
        if live and live[-1].turn == turn.id:
            with suppress(SessionBusy):  # another turn has just begun: then it stays where it is
                await self._desk.service.undo(turn.session, by)

    async def follow(
        self,
        turn: Turn,
        by: Caller,
        to: ReplyTarget,
        *,
        handoff: str = "",
        asks: Ask = lambda _: None,
        reached: Reached = lambda *_: None,
        tells: bool = True,
        heard: InboundPayload | None = None,
    ) -> TurnOutcome:
        """Brings what a turn says on its way, until it is over."""
        outcome, growing = TurnOutcome(turn=turn.id), StreamingMessage(self._desk, turn, to, handoff)
        asking = ApprovalPrompts(self._desk, turn, to, by)
        async with (
            self._signs.showing(to, heard),
            aclosing(self._desk.service.watch(turn.session, after=turn.after, principal=by.principal)) as log,
        ):
            async for kept in log:
                if kept.turn != turn.id:
                    continue
                item, texts, drafts = kept.item, list[str](), list[OutgoingDraft]()
                if isinstance(item, Chunk):
                    await growing.grow(item.text)
                elif isinstance(item, Message):
                    texts = [await growing.whole(text) for text in self._said(item, outcome)]
                elif isinstance(item, Progress) and item.stage == "approval":
                    if item.detail.get("status") == "asked":
                        drafts = await asking.asked(kept.public_id, item.detail, handoff=handoff)
                        asks(dict(item.detail))
                    else:
                        asks(None)
                        await asking.answered(item.detail)
                elif isinstance(item, Progress) and "steer" in item.detail:
                    reached(str(item.detail["steer"]), item.detail.get("heard") is not False)
                elif isinstance(item, Failed):
                    outcome.failed = item
                elif isinstance(item, Done):
                    outcome.status = item.status
                    if outcome.failed and tells and not outcome.was_cut_off and not outcome.answered:
                        texts = [failure_text(outcome.failed)]
                for text in texts:
                    drafts += self._desk.drafts(to, kept.public_id, text, handoff=handoff)
                if drafts := drafts + file_drafts(kept, to, handoff):
                    outcome.shown += [one.key for one in drafts]
                    await self._desk.store.put_outgoing(drafts)
                if isinstance(item, Done):
                    asks(None)
                    await asking.close()
                    return outcome
        return outcome

    def _said(self, message: Message, outcome: TurnOutcome) -> list[str]:
        if message.role == "tool":
            outcome.answered = False
        if message.role != "assistant":
            return []
        outcome.acted |= bool(tool_calls_of(message))
        text, whole = words_of(message).strip(), message.finish_reason not in _UNFINISHED
        outcome.answered = bool(text) and whole and not tool_calls_of(message)
        return [text] if text and whole else []
