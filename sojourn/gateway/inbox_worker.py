"""The inbox worker: handles stored messages, one at a time in each conversation, many conversations at once.

A command or the answer to a question does not wait behind the running turn: it is claimed out of turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.chat_commands import parse_command
from sojourn.core.errors import BadInput, Conflict, LeaseLost, NotFound, SojournError, StoreUnavailable
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.dispatch import ActiveConversation, MessageDispatcher
from sojourn.gateway.payloads import decode_inbound, encode_payload, payload_from_inbound
from sojourn.gateway.render import problem_text
from sojourn.gateway.row_worker import RetryLater, RowWorker
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.platform import Inbound

_MAX_ATTEMPTS = 5
_RETRY_SECONDS = 0.05
_GIVE_UP_SECONDS = 3600.0

logger = logging.getLogger(__name__)


class InboxWorker(RowWorker):
    """Works on the inbox rows of the accounts that this gateway has leased."""

    topic = "inbox"

    def __init__(self, context: GatewayContext, dispatcher: MessageDispatcher) -> None:
        super().__init__(context)
        self._dispatcher = dispatcher
        self._active: dict[str, ActiveConversation] = {}
        self._max_tasks = int(context.settings["gateway.at_once"])

    async def receive(self, connection: PlatformConnection, inbound: Inbound) -> None:
        """Stores a message; the adapter may acknowledge it when this returns. One from somebody whose id cannot be part
        of a key is left out: an error would end the connection, and the network would tell it again and again."""
        platform, account = connection.key
        try:
            key = self._context.keys.key(inbound.place, inbound.sender)
        except BadInput as error:
            logger.warning("a message on %s was left out: %s", platform, error)
            return
        row = await self._store.add_incoming(
            platform,
            account,
            inbound.id,
            place=key,
            payload=encode_payload(payload_from_inbound(inbound)),
            files=inbound.files,
        )
        active = self._active.get(key)
        if row is not None and active is not None and self._may_not_wait(connection, inbound, active):
            active.wakeup.set()

    def _may_not_wait(self, connection: PlatformConnection, inbound: Inbound, active: ActiveConversation) -> bool:
        """Whether a message may concern the running turn. Any other waits in its row."""
        is_command = parse_command(inbound.text, connection.adapter.info.prefix) is not None
        return is_command or active.question is not None or self._context.settings["gateway.when_busy"] != "queue"

    async def _claim_batch(self) -> bool:
        accounts = [key for key, one in self._context.connections.items() if one.is_ours and one.is_leased]
        room = self._max_tasks - len(self._tasks)
        if not accounts or room <= 0:
            return False
        items = await self._store.claim_incoming(
            self._context.owner, lines=accounts, limit=room, seconds=self._context.lease_seconds
        )
        for item in items:
            if (active := self._active.get(item.place)) and active.has(item):
                continue  # renewed too late; its task meets LeaseLost, and the row is claimed again
            self._start_task(self._work(item), f"conversation {item.place}")
        return len(items) == room

    async def _work(self, item: Incoming) -> None:
        """Handles a conversation until none of its claimed messages is left; when cancelled, releases them."""
        active = self._active[item.place] = ActiveConversation(item)
        renewal = asyncio.create_task(self._renew(active))
        try:
            while active.item is not None:
                active.is_turn_over = False
                during_turn = asyncio.create_task(self._during_turn(active))
                try:
                    await self._handle(active, active.item)
                    active.is_turn_over = True
                    active.wakeup.set()
                    await during_turn  # to its end: a message that steered the turn must not get a second one
                finally:
                    await cancel_tasks([during_turn])
                await self._settle_steered(active)
                active.item = active.queued.pop(0) if active.queued else None
        except asyncio.CancelledError:
            await self._release(active)
            raise
        finally:
            await cancel_tasks([renewal])
            if self._active.get(item.place) is active:
                del self._active[item.place]

    async def _settle_steered(self, active: ActiveConversation) -> None:
        """Finishes steered messages that the turn accepted; each of the others gets a turn of its own."""
        steered, results, active.steered, active.steer_results = active.steered, active.steer_results, [], {}
        for item in steered:
            if not results.get(decode_inbound(item).text):
                active.queued.append(item)
            else:
                with suppress(Conflict):
                    await self._store.finish_incoming(item)
        active.queued.sort(key=lambda item: item.id)

    async def _release(self, active: ActiveConversation) -> None:
        """Releases unfinished rows, so that another gateway can claim them at once."""
        for item in active.items:
            with suppress(SojournError, asyncio.CancelledError):
                await self._store.release_incoming(item, error="the gateway was stopped")

    async def _renew(self, active: ActiveConversation) -> None:
        while True:
            await asyncio.sleep(self._context.lease_seconds / 3)
            for item in active.items:
                with suppress(Conflict, NotFound, StoreUnavailable):  # the handler meets the same error and reacts
                    await self._store.update_incoming(item, seconds=self._context.lease_seconds)

    async def _handle(self, active: ActiveConversation, item: Incoming) -> None:
        """Handles one message. It catches every error: a bad message must not stop the others."""
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        try:
            while True:
                try:
                    turn = await self._dispatcher.handle(item, active)
                    break
                except RetryLater as retry:
                    if time.monotonic() > deadline:
                        raise retry.error from None
                    if not self._context.connections[item.platform, item.account].is_leased:
                        await self._store.release_incoming(item, error="another gateway has the account now")
                        return
                    if not decode_inbound(item).handoff:
                        await self._receive_handoffs_first(active)
                    await asyncio.sleep(_RETRY_SECONDS)
            if active.unsent:
                await self._store.answer_incoming(item, active.unsent, turn)
            else:
                await self._store.finish_incoming(item, turn=turn)
        except LeaseLost as error:
            logger.info("incoming %s is handled by another gateway: %s", item.id, error)
        except StoreUnavailable as error:
            logger.warning("incoming %s waits for the store: %s", item.id, error)
        except Exception as error:
            logger.exception("incoming %s could not be handled", item.id)
            await self._fail(item, error)
        finally:
            active.session, active.question, active.unsent = None, None, []

    async def _receive_handoffs_first(self, active: ActiveConversation) -> None:
        """Handles hand-offs to this very conversation ahead of the message that waits for them."""
        assert active.item is not None
        waiting = active.item
        active.queued += await self._claim_out_of_turn(waiting.place)
        while arrival := next((one for one in active.queued if decode_inbound(one).handoff), None):
            active.queued.remove(arrival)
            active.item, active.queued = arrival, [waiting, *active.queued]
            await self._handle(active, arrival)
            active.queued.remove(waiting)
            active.item = waiting

    async def _fail(self, item: Incoming, error: Exception) -> None:
        """Retries after an unexpected error; finally tells the chat and marks the row as failed."""
        problem = str(error) if isinstance(error, SojournError) else f"{type(error).__name__}: {error}"
        with suppress(SojournError):
            if item.attempts < _MAX_ATTEMPTS and not isinstance(error, SojournError):
                await self._store.release_incoming(item, seconds=2.0**item.attempts, error=problem)
                return
            hint = error.hint if isinstance(error, SojournError) else "Try again, or look at the log."
            to = self._context.reply_target(item, decode_inbound(item).place)
            await self._context.enqueue_text(to, f"in:{item.id}:failed", problem_text(problem, hint))
            await self._store.finish_incoming(item, "failed", error=problem)

    async def _during_turn(self, active: ActiveConversation) -> None:
        """While a turn runs, handles the messages that may not wait, and queues the others."""
        while True:
            await active.wakeup.wait()
            if active.is_turn_over:
                return  # the event stays set: the next turn looks for what came in meanwhile
            active.wakeup.clear()
            assert active.item is not None
            try:
                for item in await self._claim_out_of_turn(active.item.place):
                    result = await self._dispatcher.handle_during_turn(item, active)
                    if result == "done":
                        await self._store.finish_incoming(item)
                    else:
                        (active.steered if result == "steered" else active.queued).append(item)
            except LeaseLost as error:
                logger.info("a message claimed out of turn was lost: %s", error)
            except SojournError as error:
                logger.warning("a message that came in during a turn has to wait: %s", error)

    async def _claim_out_of_turn(self, place: str) -> list[Incoming]:
        items = list[Incoming]()
        while batch := await self._store.claim_incoming(
            self._context.owner, place=place, out_of_turn=True, seconds=self._context.lease_seconds
        ):
            items += batch
        return items
