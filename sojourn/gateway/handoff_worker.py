"""The hand-off worker: one gateway claims each hand-off; after a crash another one resumes at the last step.

    claimed ─▶ find the target place ─▶ thread_ready ─▶ put an announcement into the inbox of that place
    and there, in its turn: bind ─▶ bound ─▶ the agent's first turn ─▶ turn_done ─▶ outbox ─▶ delivered ─▶ completed

Because the announcement is an inbox row like any other, messages that people write there meanwhile wait behind it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import Conflict, LeaseLost, NotFound, PlatformDown, SojournError, StoreUnavailable
from sojourn.core.handoff import LOCAL_SURFACES, Handoff, HandoffId
from sojourn.core.sessions import Session
from sojourn.gateway.bindings import encode_place
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.handoff_claim import ClaimedHandoff
from sojourn.gateway.handoff_target import HandoffTarget
from sojourn.gateway.payloads import InboundPayload, decode_outbound, encode_payload
from sojourn.gateway.row_worker import RetryLater, RowWorker
from sojourn.gateway.turn_runner import TurnRunner
from sojourn.ports.gateway_store import Incoming, Outgoing
from sojourn.ports.service import Caller, TurnRequest

logger = logging.getLogger(__name__)


class HandoffWorker(RowWorker):
    """Carries out the hand-offs that one gateway claims, several at once."""

    topic = "handoffs"
    poll_seconds = 2.0

    def __init__(self, context: GatewayContext, turn_runner: TurnRunner) -> None:
        super().__init__(context)
        self._turn_runner, self._target = turn_runner, HandoffTarget(context)
        self._claims: dict[HandoffId, ClaimedHandoff] = {}

    async def _claim_batch(self) -> bool:
        names = [one.adapter.info.name for one in self._context.connections.values() if one.state == "up"]
        handoff = await self._store.claim_handoff(
            self._context.owner, platforms=[*names, *LOCAL_SURFACES], seconds=self._context.lease_seconds
        )
        if handoff is not None:
            self._start(handoff)
        return handoff is not None

    def _start(self, handoff: Handoff) -> ClaimedHandoff:
        claim = self._claims[handoff.id] = ClaimedHandoff(self._store, handoff)
        self._start_task(self._run(claim), f"hand-off {handoff.id}")
        return claim

    async def _run(self, claim: ClaimedHandoff) -> None:
        steps = asyncio.create_task(self._run_steps(claim))
        renewal = asyncio.create_task(
            claim.renew(self._context.lease_seconds, is_served=lambda: self._is_served_here(claim))
        )
        try:
            await asyncio.wait({steps, renewal}, return_when=asyncio.FIRST_COMPLETED)
            await (steps if steps.done() else renewal)
        except LeaseLost as error:
            logger.info("hand-off %s is carried out by another gateway: %s", claim.current.id, error)
        except StoreUnavailable as error:
            logger.warning("hand-off %s waits for the store: %s", claim.current.id, error)
        except SojournError as error:
            await self._fail(claim, error)
        except Exception as error:  # the edge of an adapter: plugin code may raise anything
            logger.exception("hand-off %s failed", claim.current.id)
            await self._fail(claim, SojournError(f"{type(error).__name__}: {error}"))
        finally:
            await cancel_tasks([steps, renewal])
            if self._claims.get(claim.current.id) is claim:
                del self._claims[claim.current.id]

    async def _run_steps(self, claim: ClaimedHandoff) -> None:
        session = await self._store.get(claim.current.session)
        if claim.current.platform in LOCAL_SURFACES:
            return await self._complete_local(claim)
        if claim.current.state == "claimed":
            await self._prepare_place(claim, session)
        if claim.current.state in ("thread_ready", "bound"):
            await self._announce(claim, session)
            while claim.current.state in ("thread_ready", "bound"):
                claim.changed.clear()
                await claim.changed.wait()
        if claim.current.state == "turn_done":
            await self._wait_for_delivery(claim)
        if claim.current.state == "delivered":
            await claim.complete()

    async def _prepare_place(self, claim: ClaimedHandoff, session: Session) -> None:
        adapter = self._connection(claim.current).adapter
        place = await self._target.find(claim.current, session, adapter)
        key = await self._target.session_key(place, session, adapter)
        await claim.advance("thread_ready", place=key, thread_id=place.thread or "", note=place.fallback_reason)

    async def _announce(self, claim: ClaimedHandoff, session: Session) -> None:
        """Puts the announcement into the inbox of the place. Each gateway that claims the hand-off does so, because
        an earlier announcement may have been handled without effect; the steps it leads to are applied once."""
        handoff, connection = claim.current, self._connection(claim.current)
        place = await self._target.find(handoff, session, connection.adapter)
        text = _announcement_text(handoff, session, connection.adapter.info.label)
        platform, account = connection.key
        await self._store.add_incoming(
            platform,
            account,
            f"handoff:{handoff.id}:{handoff.fence}",
            place=handoff.place,
            payload=encode_payload(InboundPayload(place=place, text=text, handoff=handoff.id)),
        )

    def _is_served_here(self, claim: ClaimedHandoff) -> bool:
        """The gateway that has the account handles the announcement. After the first turn any gateway can go on."""
        connection = self._context.connection_to(claim.current.platform)
        has_spoken = claim.current.state in ("turn_done", "delivered")
        return has_spoken or connection is None or connection.state != "elsewhere"

    def _connection(self, handoff: Handoff) -> PlatformConnection:
        connection = self._context.connection_to(handoff.platform)
        if connection is not None and connection.state == "elsewhere":
            raise LeaseLost("Another process uses the account now.")
        if connection is None or not connection.is_ours:
            raise PlatformDown(f"This gateway no longer serves {handoff.platform}.", hint="Try again.")
        return connection

    async def on_announcement(self, item: Incoming, payload: InboundPayload) -> None:
        """Handles the announcement: binds the session to the place and runs the agent's first turn. RetryLater."""
        claim = await self._get_claim(HandoffId(payload.handoff))
        if claim is None:
            return  # the hand-off has ended
        try:
            session = await self._store.get(claim.current.session)
            if claim.current.state == "thread_ready":
                details = encode_place(payload.place)
                await self._store.bind(item.place, session.id, principal=session.principal, details=details)
                await claim.advance("bound", surface=item.platform)
            if claim.current.state == "bound":
                await self._first_turn(claim, item, payload, session)
        except LeaseLost:
            raise
        except (Conflict, NotFound) as error:
            await self._fail(claim, error)

    async def _get_claim(self, id: HandoffId) -> ClaimedHandoff | None:
        """Our claim; None when the hand-off has ended. RetryLater while another gateway may still carry it out."""
        if claim := self._claims.get(id):
            return claim
        try:
            handoff = await self._store.get_handoff(id)
        except NotFound:
            return None
        if not handoff.is_live or handoff.state in ("turn_done", "delivered"):
            return None
        claimed = await self._store.claim_handoff(self._context.owner, id=id, seconds=self._context.lease_seconds)
        if claimed is None:
            raise RetryLater(LeaseLost("Another gateway is carrying out the hand-off."))
        return self._start(claimed)

    async def _first_turn(
        self, claim: ClaimedHandoff, item: Incoming, payload: InboundPayload, session: Session
    ) -> None:
        by = Caller(surface=item.platform, principal=session.principal, holder=self._context.owner, name="Sojourn")
        to = self._context.reply_target(item, payload.place, session=session.id)
        adapter = self._context.find_adapter(to)
        request = TurnRequest(text=payload.text, internal=True, attended=adapter is None or not adapter.info.system)
        outcome = await self._turn_runner.answer(item, session, request, by, to, handoff=payload.handoff)
        if (failed := outcome.failed) is not None and not outcome.has_answer:
            await self._fail(claim, SojournError(failed.message, hint=failed.hint), code=failed.code)
        else:
            await claim.advance("turn_done")

    async def _wait_for_delivery(self, claim: ClaimedHandoff) -> None:
        """Waits until one message of the first turn is sent. PlatformDown if all of them failed."""
        async with aclosing(self._store.watch_gateway("outbox", seconds=1.0)) as wakeups:
            async for _ in wakeups:
                rows = await self._list_rows(claim.current)
                sent = [row for row in rows if row.state in ("sent", "delivered")]
                failed = [row for row in rows if row.state == "failed"]
                if sent:
                    await claim.advance("delivered", message_id=sent[0].message_id)
                    return
                if len(failed) == len(rows):
                    break
        if not rows:
            await claim.complete()
            return
        raise PlatformDown(f"The answer could not be delivered: {failed[0].error}")

    async def _list_rows(self, handoff: Handoff) -> list[Outgoing]:
        rows = await self._store.outgoing(session=handoff.session, place=handoff.place, limit=10_000)
        return [row for row in rows if decode_outbound(row).handoff == handoff.id]

    async def _complete_local(self, claim: ClaimedHandoff) -> None:
        """Completes a hand-off to the terminal or the web at once: nothing is sent there."""
        if claim.current.state in ("claimed", "thread_ready"):
            await claim.advance("bound", surface=claim.current.platform)
        await self._context.bindings.release(claim.current.session)
        await claim.complete()

    async def _fail(self, claim: ClaimedHandoff, error: SojournError, *, code: str = "") -> None:
        """Stores the reason, gives the session back to its surface, and restores the earlier binding of the place."""
        reason = f"{error} {error.hint}".strip()
        logger.warning("hand-off %s failed: %s", claim.current.id, reason)
        with suppress(Conflict, NotFound, StoreUnavailable):
            before = claim.current
            await claim.fail(code or error.code, reason)
            if before.place:
                await self._context.bindings.restore(before.place, before.session)
        claim.changed.set()


def _announcement_text(handoff: Handoff, session: Session, label: str) -> str:
    by = f" by {handoff.by}" if handoff.by else ""
    return (
        f"[Sojourn: this session, “{session.title or session.id}”, was just handed over from {handoff.from_surface} "
        f"to {label}{by}. The whole conversation so far is above. Say hello here in one short message: where things "
        "stand and what comes next. Do not start new work before the person writes.]"
    )
