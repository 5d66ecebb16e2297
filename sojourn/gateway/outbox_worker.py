"""Sends what stands in the outbox: each place in its order, each message once, and what is unsure is marked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Literal

from sojourn.core.attachments import Attachment
from sojourn.core.errors import Conflict, NotFound, PlatformDown, SendRefused, SojournError, StoreUnavailable
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.payloads import OutboundPayload, decode_outbound
from sojourn.gateway.render import DUPLICATE_MARK, file_line, split_text
from sojourn.ports.gateway_store import AccountKey as LineName
from sojourn.ports.gateway_store import Outgoing
from sojourn.ports.platform import CanAsk, CanSendFiles, File, PlatformAdapter, Sent
from sojourn.ports.store import Store

PATIENCE = 25.0  # seconds a network may take to answer
GIVE_UP = 86_400.0  # seconds after which something is too old to be sent
_TRIES = 5  # for what nobody understands
_AT_ONCE = 64
_HOPELESS = ("forbidden", "not_found", "too_long", "bad_format")

logger = logging.getLogger(__name__)


class OutboxWorker:
    """The sender of one gateway, for the lines it holds."""

    def __init__(
        self, journal: Store, owner: str, lines: Mapping[LineName, PlatformConnection], *, seconds: float = 20.0
    ) -> None:
        self._journal, self._owner, self._lines, self._seconds = journal, owner, lines, seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self.last_delivered: dict[str, float] = {}

    async def run(self) -> None:
        """Until cancelled. What is being sent then may or may not arrive, and is marked by whoever goes on."""
        try:
            while True:
                try:
                    await self._run()
                except StoreUnavailable as error:
                    logger.warning("nothing can be sent: %s", error)
                    await asyncio.sleep(1)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        async with aclosing(self._journal.watch_gateway("outbox", seconds=1.0)) as bell:
            async for _ in bell:
                while await self._take():
                    pass

    async def _take(self) -> bool:
        """Starts what can be sent now. False: nothing was there."""
        room = _AT_ONCE - len(self._tasks)
        names = [name for name, line in self._lines.items() if line.is_ours]
        if not names or room <= 0:
            return False
        items = await self._journal.claim_outgoing(self._owner, lines=names, limit=room, seconds=self._seconds)
        for item in items:
            task = asyncio.create_task(self._send(item))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return len(items) == room

    async def _send(self, item: Outgoing) -> None:
        adapter = self._lines[(item.platform, item.account)].adapter
        renewing = asyncio.create_task(self._renew(item))
        try:
            async with asyncio.timeout(PATIENCE):
                sent = await self._post(adapter, item, parcel := decode_outbound(item))
            await self._note(item, "sent" if parcel.grows or parcel.buttons else "delivered", sent)
            self.last_delivered[item.platform] = time.time()
        except Conflict as error:
            logger.info("outgoing %s is cared for elsewhere: %s", item.id, error)
        except SendRefused as refused:
            await self._refused(item, refused)
        except (PlatformDown, TimeoutError) as error:  # nobody knows whether it arrived
            await self._later(item, _pause(item), str(error) or "no answer in time", maybe_sent=True)
        except Exception as error:  # the edge of an adapter: a stranger's code may raise anything
            logger.exception("%s failed to send", item.platform)
            await self._unknown(item, f"{type(error).__name__}: {error}", maybe_sent=True)
        finally:
            renewing.cancel()

    async def _note(self, item: Outgoing, state: Literal["sent", "delivered"], sent: Sent) -> None:
        """It is there. A store that is away just now has to hear of it, or it would be sent again. Conflict."""
        while True:
            try:
                await self._journal.finish_outgoing(item, state, message_id=sent.id)
                return
            except StoreUnavailable as error:
                if not error.retryable:
                    raise
                logger.warning("outgoing %s was sent, which cannot be noted: %s", item.id, error)
                await asyncio.sleep(0.5)

    async def _renew(self, item: Outgoing) -> None:
        """While a network takes its time, nobody else sends it."""
        with suppress(SojournError):
            while True:
                await asyncio.sleep(self._seconds / 3)
                await self._journal.renew_outgoing(item, seconds=self._seconds)

    async def _post(self, adapter: PlatformAdapter, item: Outgoing, parcel: OutboundPayload) -> Sent:
        if parcel.file is not None and isinstance(adapter, CanSendFiles):
            sent = await self._with_file(adapter, item, parcel, parcel.file)
            if isinstance(sent, Sent):
                return sent
            parcel = sent
        text = (DUPLICATE_MARK if item.possible_duplicate else "") + parcel.text
        try:
            if parcel.buttons and isinstance(adapter, CanAsk):
                return await adapter.ask(parcel.place, text, parcel.buttons, reply_to=parcel.reply_to)
            return await adapter.send(parcel.place, text, reply_to=parcel.reply_to)
        except SendRefused as refused:
            if refused.kind == "bad_format":
                return await self._plainly(adapter, parcel, text)
            if refused.kind != "too_long":
                raise
            return await self._plainly(adapter, parcel, text, halves=True)

    async def _with_file(
        self, adapter: CanSendFiles, item: Outgoing, parcel: OutboundPayload, file: Attachment
    ) -> Sent | OutboundPayload:
        """Sends the file; a network that does not take this one gets a line about it instead."""
        try:
            assert item.session is not None
            data, _ = await self._journal.get_blob(item.session, file.hash)
            told = File(name=file.name or "file", media_type=file.media_type, data=data)
            return await adapter.send_file(
                parcel.place, told, caption=DUPLICATE_MARK.strip() if item.possible_duplicate else ""
            )
        except NotFound as error:
            return replace(parcel, text=file_line(file, str(error)))
        except SendRefused as refused:
            if refused.kind in ("rate_limited", "transient", "not_found"):
                raise
            return replace(parcel, text=file_line(file, f"{refused} {refused.hint}".strip()))

    async def _plainly(
        self, adapter: PlatformAdapter, parcel: OutboundPayload, text: str, *, halves: bool = False
    ) -> Sent:
        """Without formatting; smaller than the network says it takes, if it did not take that."""
        info = adapter.info
        pieces = split_text(text, info.max_chars // 2, info.counting) if halves else [text]
        for piece in pieces[:-1]:
            await adapter.send(parcel.place, piece, plain=True)
        if parcel.buttons and isinstance(adapter, CanAsk):
            return await adapter.ask(parcel.place, pieces[-1], parcel.buttons, plain=True)
        return await adapter.send(parcel.place, pieces[-1], plain=True)

    async def _refused(self, item: Outgoing, refused: SendRefused) -> None:
        if refused.kind == "rate_limited":
            await self._later(item, max(0.05, refused.retry_after or _pause(item)), str(refused))
        elif refused.kind == "transient":
            await self._later(item, refused.retry_after or _pause(item), str(refused))
        elif refused.kind in _HOPELESS:
            await self._lost(item, f"{refused.kind}: {refused}")
        else:
            await self._unknown(item, str(refused))

    async def _unknown(self, item: Outgoing, error: str, *, maybe_sent: bool = False) -> None:
        if item.attempts >= _TRIES:
            await self._lost(item, error)
        else:
            await self._later(item, _pause(item), error, maybe_sent=maybe_sent)

    async def _later(self, item: Outgoing, seconds: float, error: str, *, maybe_sent: bool = False) -> None:
        if time.time() - item.created_at > GIVE_UP:
            return await self._lost(item, error)
        try:
            await self._journal.release_outgoing(item, seconds=seconds, error=error, maybe_sent=maybe_sent)
        except SojournError as problem:
            logger.warning("outgoing %s: %s", item.id, problem)

    async def _lost(self, item: Outgoing, error: str) -> None:
        logger.warning("outgoing %s to %s could not be delivered: %s", item.id, item.platform, error)
        try:
            await self._journal.finish_outgoing(item, "failed", error=error)
        except SojournError as problem:
            logger.warning("outgoing %s: %s", item.id, problem)


def _pause(item: Outgoing) -> float:
    return float(min(60.0, 0.5 * 2 ** min(item.attempts, 8)))
