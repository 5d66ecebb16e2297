"""Carries hand-offs out: each is picked up by one gateway, and after a crash by another, from the step it reached.

    claimed ─▶ a place is found ─▶ thread_ready ─▶ our own word is put into the inbox of that place
    and there, in its turn: bind ─▶ bound ─▶ the agent speaks ─▶ turn_done ─▶ outbox ─▶ delivered ─▶ completed

Because the word stands in the inbox like any other message, what people write there meanwhile waits behind it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress

from sojourn.core.errors import Conflict, LeaseLost, NotFound, PlatformDown, SojournError, StoreUnavailable
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.sessions import Session
from sojourn.gateway.bindings import encode_place
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.handoff_claim import ClaimedHandoff
from sojourn.gateway.handoff_target import HandoffTarget
from sojourn.gateway.payloads import InboundPayload, decode_outbound, encode_payload
from sojourn.gateway.turn_runner import TurnOutcome, TurnRunner
from sojourn.gateway.waiting import NotYet
from sojourn.ports.gateway_store import Incoming, Outgoing
from sojourn.ports.service import Caller, TurnRequest
from sojourn.service.handoffs import LOCAL_SURFACES

logger = logging.getLogger(__name__)


class HandoffWorker:
    """The watcher of one gateway. Several hand-offs are carried at once."""

    def __init__(self, desk: GatewayContext, answering: TurnRunner) -> None:
        self._desk, self._store, self._answering, self._landing = desk, desk.store, answering, HandoffTarget(desk)
        self._carried: dict[HandoffId, ClaimedHandoff] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._watch()
                except StoreUnavailable as error:
                    logger.warning("no hand-off can be seen: %s", error)
                    await asyncio.sleep(1)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self) -> None:
        async with aclosing(self._store.watch_gateway("handoffs", seconds=2.0)) as bell:
            async for _ in bell:
                names = [line.adapter.info.name for line in self._desk.lines.values() if line.state == "up"]
                while found := await self._store.claim_handoff(
                    self._desk.owner, platforms=[*names, *LOCAL_SURFACES], seconds=self._desk.lease
                ):
                    self._carry_soon(found)

    def _carry_soon(self, handoff: Handoff) -> None:
        carried = self._carried[handoff.id] = ClaimedHandoff(self._store, handoff)
        task = asyncio.create_task(self._carry(carried), name=f"hand-off {handoff.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # carrying
    async def _carry(self, carried: ClaimedHandoff) -> None:
        steps = asyncio.create_task(self._steps(carried))
        renewing = asyncio.create_task(carried.renew(self._desk.lease, can_go_on=lambda: self._is_served_here(carried)))
        try:
            await asyncio.wait({steps, renewing}, return_when=asyncio.FIRST_COMPLETED)
            await (steps if steps.done() else renewing)
        except LeaseLost as error:
            logger.info("hand-off %s is carried by another: %s", carried.now.id, error)
        except StoreUnavailable as error:
            logger.warning("hand-off %s waits for the store: %s", carried.now.id, error)
        except SojournError as error:
            await self._fail(carried, error)
        except Exception as error:  # the edge of an adapter: a stranger's code may raise anything
            logger.exception("hand-off %s failed", carried.now.id)
            await self._fail(carried, SojournError(f"{type(error).__name__}: {error}"))
        finally:
            for task in (steps, renewing):
                task.cancel()
            await asyncio.gather(steps, renewing, return_exceptions=True)
            if self._carried.get(carried.now.id) is carried:
                del self._carried[carried.now.id]

    async def _steps(self, carried: ClaimedHandoff) -> None:
        session = await self._store.get(carried.now.session)
        if carried.now.platform in LOCAL_SURFACES:
            return await self._to_desk(carried)
        if carried.now.state == "claimed":
            await self._land(carried, session)
        if carried.now.state in ("thread_ready", "bound"):
            await self._announce(carried, session)
            while carried.now.state in ("thread_ready", "bound"):
                carried.moved.clear()
                await carried.moved.wait()
        if carried.now.state == "turn_done":
            await self._until_delivered(carried)
        if carried.now.state == "delivered":
            await carried.complete()

    async def _land(self, carried: ClaimedHandoff, session: Session) -> None:
        line = self._line(carried.now)
        place = await self._landing.find(carried.now, session, line.adapter)
        key = await self._landing.key(place, session, line.adapter)
        await carried.advance("thread_ready", place=key, thread_id=place.thread or "", note=place.fallback_reason)

    async def _announce(self, carried: ClaimedHandoff, session: Session) -> None:
        """Puts our word into the inbox of the place. Each who carries it does: the word of one before may have been
        heard without an effect. What it leads to is done once."""
        handoff, line = carried.now, self._line(carried.now)
        place = await self._landing.find(handoff, session, line.adapter)
        letter = InboundPayload(place=place, text=_word(handoff, session, line.adapter.info.label), handoff=handoff.id)
        platform, account = line.name
        await self._store.add_incoming(
            platform,
            account,
            f"handoff:{handoff.id}:{handoff.fence}",
            place=handoff.place,
            payload=encode_payload(letter),
        )

    def _is_served_here(self, carried: ClaimedHandoff) -> bool:
        """Who has the line hears our word. Once the agent has spoken it does not matter who watches."""
        line = self._desk.line_to(carried.now.platform)
        return carried.now.state in ("turn_done", "delivered") or line is None or line.state != "elsewhere"

    def _line(self, handoff: Handoff) -> PlatformConnection:
        line = self._desk.line_to(handoff.platform)
        if line is not None and line.state == "elsewhere":
            raise LeaseLost("The account is used by another process now.")
        if line is None or not line.is_ours:
            raise PlatformDown(f"{handoff.platform} is not served here any more.", hint="Try it again.")
        return line

    # when its turn comes in the place
    async def arrive(self, item: Incoming, letter: InboundPayload) -> None:
        """The word is heard: the session is bound to the place, and the agent speaks first."""
        carried = await self._ours(HandoffId(letter.handoff))
        if carried is None:
            return  # it is over
        try:
            session = await self._store.get(carried.now.session)
            if carried.now.state == "thread_ready":
                await self._store.bind(
                    item.place, session.id, principal=session.principal, details=encode_place(letter.place)
                )
                await carried.advance("bound", surface=item.platform)
            if carried.now.state == "bound":
                outcome = await self._speak(item, letter, session)
                await self._spoken(carried, outcome)
        except LeaseLost:
            raise
        except (Conflict, NotFound) as error:
            await self._fail(carried, error)

    async def _ours(self, id: HandoffId) -> ClaimedHandoff | None:
        """In our hands, or None when it is over. NotYet while another one may still carry it."""
        if carried := self._carried.get(id):
            return carried
        try:
            found = await self._store.get_handoff(id)
        except NotFound:
            return None
        if not found.is_live or found.state in ("turn_done", "delivered"):
            return None
        claimed = await self._store.claim_handoff(self._desk.owner, id=id, seconds=self._desk.lease)
        if claimed is None:
            raise NotYet(LeaseLost("The hand-off is carried by another gateway."))
        self._carry_soon(claimed)
        return self._carried[id]

    async def _speak(self, item: Incoming, letter: InboundPayload, session: Session) -> TurnOutcome:
        by = Caller(surface=item.platform, principal=session.principal, holder=self._desk.owner, name="Sojourn")
        said = TurnRequest(text=letter.text, internal=True)
        to = self._desk.address(item, letter.place, session=session.id)
        return await self._answering.answer(item, session, said, by, to, handoff=letter.handoff, tells=False)

    async def _spoken(self, carried: ClaimedHandoff, outcome: TurnOutcome) -> None:
        if outcome.failed is not None and not outcome.answered:
            failed = outcome.failed
            await self._fail(carried, SojournError(failed.message, hint=failed.hint), code=failed.code)
        else:
            await carried.advance("turn_done")

    # afterwards
    async def _until_delivered(self, carried: ClaimedHandoff) -> None:
        async with aclosing(self._store.watch_gateway("outbox", seconds=1.0)) as bell:
            async for _ in bell:
                rows = await self._words_of(carried.now)
                arrived = [one for one in rows if one.state in ("sent", "delivered")]
                lost = [one for one in rows if one.state == "failed"]
                if arrived:
                    await carried.advance("delivered", message_id=arrived[0].message_id)
                    return
                if len(lost) == len(rows):
                    break
        if not rows:
            await carried.complete()
            return
        raise PlatformDown(f"The answer could not be delivered: {lost[0].error}")

    async def _words_of(self, handoff: Handoff) -> list[Outgoing]:
        rows = await self._store.outgoing(session=handoff.session, place=handoff.place, limit=10_000)
        return [one for one in rows if decode_outbound(one).handoff == handoff.id]

    async def _to_desk(self, carried: ClaimedHandoff) -> None:
        """To the terminal or the web: nobody has to be told there, it is picked up."""
        if carried.now.state in ("claimed", "thread_ready"):
            await carried.advance("bound", surface=carried.now.platform)
        await self._desk.places.release(carried.now.session)
        await carried.complete()

    async def _fail(self, carried: ClaimedHandoff, error: SojournError, *, code: str = "") -> None:
        """The reason is kept, the wheel goes back, and what the session displaced comes back."""
        words = f"{error} {error.hint}".strip()
        logger.warning("hand-off %s failed: %s", carried.now.id, words)
        with suppress(Conflict, NotFound, StoreUnavailable):
            was = carried.now
            await carried.fail(code or error.code, words)
            if was.place:
                await self._desk.places.restore(was.place, was.session)
        carried.moved.set()


def _word(handoff: Handoff, session: Session, label: str) -> str:
    by = f" by {handoff.by}" if handoff.by else ""
    return (
        f"[Sojourn: this session, “{session.title or session.id}”, was just handed over from {handoff.from_surface} "
        f"to {label}{by}. The whole conversation so far is above. Say hello here in one short message: where things "
        "stand and what comes next. Do not start new work before the person writes.]"
    )
