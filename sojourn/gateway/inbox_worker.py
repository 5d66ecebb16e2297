"""Works on what came in: one message at a time in each place, many places at once.

What cannot wait behind a running turn (a command, the answer to a question) is taken ahead of its turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress

from sojourn.core.errors import Conflict, LeaseLost, NotFound, SojournError, StoreUnavailable
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.dispatch import MessageDispatcher
from sojourn.gateway.payloads import decode_inbound, encode_payload, payload_from_inbound
from sojourn.gateway.render import apology_text
from sojourn.gateway.waiting import NotYet
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.platform import Inbound
from sojourn.service.chat_commands import parse_command

_TRIES = 5
_SOON = 0.05

logger = logging.getLogger(__name__)


class ActiveConversation:
    """A place that is being worked on: the message whose turn it is, and those that were taken ahead and wait."""

    def __init__(self, item: Incoming) -> None:
        self.item: Incoming | None = item
        self.held: list[Incoming] = []
        self.steered: list[Incoming] = []  # given to the running turn, which may or may not hear them
        self.heard: dict[str, bool] = {}  # … and which it did
        self.knocked = asyncio.Event()
        self.session: SessionId | None = None  # in which a turn runs
        self.question: Mapping[str, Json] | None = None  # what that turn asks

    @property
    def items(self) -> list[Incoming]:
        return [*([self.item] if self.item else []), *self.held, *self.steered]

    def has(self, item: Incoming) -> bool:
        return any(one.id == item.id for one in self.items)


class InboxWorker:
    """The inbox of one gateway, for the lines it holds."""

    def __init__(self, desk: GatewayContext, handling: MessageDispatcher) -> None:
        self._desk, self._journal, self._handling = desk, desk.store, handling
        self._working: dict[str, ActiveConversation] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._at_once = int(desk.settings["gateway.at_once"])

    async def keep(self, line: PlatformConnection, inbound: Inbound) -> None:
        """On disk when this returns: then it may be acknowledged."""
        key = self._desk.keys.key(inbound.place, inbound.sender)
        platform, account = line.name
        kept = await self._journal.add_incoming(
            platform,
            account,
            inbound.id,
            place=key,
            payload=encode_payload(payload_from_inbound(inbound)),
            files=inbound.files,
        )
        place = self._working.get(key)
        if kept is not None and place is not None and self._cannot_wait(line, inbound, place):
            place.knocked.set()

    def _cannot_wait(self, line: PlatformConnection, inbound: Inbound, place: ActiveConversation) -> bool:
        """Whether it may be meant for the turn that runs. Everything else waits in its row."""
        is_command = parse_command(inbound.text, line.adapter.info.prefix) is not None
        return is_command or place.question is not None or self._desk.settings["gateway.when_busy"] != "queue"

    async def run(self) -> None:
        """Until cancelled: then what was begun waits for whoever comes next."""
        try:
            while True:
                try:
                    async with aclosing(self._journal.watch_gateway("inbox", seconds=1.0)) as bell:
                        async for _ in bell:
                            while await self._take():
                                pass
                except StoreUnavailable as error:
                    logger.warning("nothing can be received: %s", error)
                    await asyncio.sleep(1)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self) -> bool:
        names = [name for name, line in self._desk.lines.items() if line.is_ours and line.is_held]
        room = self._at_once - len(self._tasks)
        if not names or room <= 0:
            return False
        items = await self._journal.claim_incoming(self._desk.owner, lines=names, limit=room, seconds=self._desk.lease)
        for item in items:
            if (place := self._working.get(item.place)) and place.has(item):
                continue  # we were too late to renew it: whoever works there meets that; it is taken up again later
            task = asyncio.create_task(self._work(item), name=f"place {item.place}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(items) == room

    async def _work(self, item: Incoming) -> None:
        """A place, until nothing taken is left."""
        place = self._working[item.place] = ActiveConversation(item)
        renewing = asyncio.create_task(self._renew(place))
        try:
            while place.item is not None:
                aside = asyncio.create_task(self._aside(place))
                try:
                    await self._one(place, place.item)
                finally:
                    aside.cancel()
                    await asyncio.gather(aside, return_exceptions=True)
                await self._settle(place)
                place.item = place.held.pop(0) if place.held else None
        except asyncio.CancelledError:
            await self._let_go(place)
            raise
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            if self._working.get(item.place) is place:
                del self._working[item.place]

    async def _settle(self, place: ActiveConversation) -> None:
        """Words that were given to the turn are done if it heard them; else their own turn comes now."""
        steered, heard, place.steered, place.heard = place.steered, place.heard, [], {}
        for item in steered:
            if not heard.get(decode_inbound(item).text):
                place.held.append(item)
            else:
                with suppress(Conflict):
                    await self._journal.finish_incoming(item)
        place.held.sort(key=lambda item: item.id)

    async def _let_go(self, place: ActiveConversation) -> None:
        """What this gateway does not finish is free for the next one, at once."""
        for item in place.items:
            with suppress(SojournError, asyncio.CancelledError):
                await self._journal.release_incoming(item, error="the gateway was stopped")

    async def _renew(self, place: ActiveConversation) -> None:
        while True:
            await asyncio.sleep(self._desk.lease / 3)
            for item in place.items:
                with suppress(Conflict, NotFound, StoreUnavailable):  # who works on it meets the same, and knows more
                    await self._journal.update_incoming(item, seconds=self._desk.lease)

    async def _one(self, place: ActiveConversation, item: Incoming) -> None:
        """Here anything may be caught: a message that cannot be handled must not stop the others."""
        until = time.monotonic() + 3600
        try:
            while True:
                try:
                    turn = await self._handling.handle(item, place)
                    break
                except NotYet as wait:
                    if time.monotonic() > until:
                        raise wait.error from None
                    if not self._desk.lines[item.platform, item.account].is_held:
                        await self._journal.release_incoming(item, error="whoever has the line goes on with it")
                        return
                    if not decode_inbound(item).handoff:
                        await self._arrivals_first(place)
                    await asyncio.sleep(_SOON)
            await self._journal.finish_incoming(item, turn=turn)
        except LeaseLost as error:
            logger.info("incoming %s is cared for elsewhere: %s", item.id, error)
        except StoreUnavailable as error:
            logger.warning("incoming %s waits for the store: %s", item.id, error)
        except Exception as error:
            logger.exception("incoming %s could not be handled", item.id)
            await self._failed(item, error)
        finally:
            place.session = place.question = None

    async def _arrivals_first(self, place: ActiveConversation) -> None:
        """A session on its way to this very place is received ahead of words that wait for it."""
        assert place.item is not None
        words = place.item
        place.held += await self._ahead(words.place)
        while arrival := next((one for one in place.held if decode_inbound(one).handoff), None):
            place.held.remove(arrival)
            place.item, place.held = arrival, [words, *place.held]
            await self._one(place, arrival)
            place.held.remove(words)
            place.item = words

    async def _failed(self, item: Incoming, error: Exception) -> None:
        words = str(error) if isinstance(error, SojournError) else f"{type(error).__name__}: {error}"
        with suppress(SojournError):
            if item.attempts < _TRIES and not isinstance(error, SojournError):
                await self._journal.release_incoming(item, seconds=2.0**item.attempts, error=words)
                return
            hint = error.hint if isinstance(error, SojournError) else "Try again, or look into the log."
            to = self._desk.address(item, decode_inbound(item).place)
            await self._desk.tell(to, f"in:{item.id}:failed", apology_text(words, hint))
            await self._journal.finish_incoming(item, "failed", error=words)

    # while a turn runs
    async def _aside(self, place: ActiveConversation) -> None:
        """Whatever comes to this place meanwhile is looked at, and handled if it cannot wait."""
        while True:
            await place.knocked.wait()
            place.knocked.clear()
            assert place.item is not None
            try:
                for item in await self._ahead(place.item.place):
                    how = await self._handling.aside(item, place)
                    if how == "done":
                        await self._journal.finish_incoming(item)
                    else:
                        (place.steered if how == "steered" else place.held).append(item)
            except LeaseLost as error:
                logger.info("taken ahead, and lost: %s", error)
            except SojournError as error:
                logger.warning("what came meanwhile has to wait: %s", error)

    async def _ahead(self, place: str) -> list[Incoming]:
        found = list[Incoming]()
        while more := await self._journal.claim_incoming(
            self._desk.owner, place=place, out_of_turn=True, seconds=self._desk.lease
        ):
            found += more
        return found
