"""The outbox worker: sends stored messages, in order within a conversation, and marks possible duplicates."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal

from sojourn.core.attachments import Attachment
from sojourn.core.errors import Conflict, NotFound, PlatformDown, SendRefused, SojournError
from sojourn.gateway.payloads import OutboundPayload, decode_outbound
from sojourn.gateway.render import DUPLICATE_MARK, file_line, split_text, without_calls
from sojourn.gateway.row_worker import RowWorker
from sojourn.ports.gateway_store import Outgoing
from sojourn.ports.platform import CanAsk, CanSendFiles, File, PlatformAdapter, Sent
from sojourn.turn_support.store_retry import retry_while_away

_SEND_TIMEOUT_SECONDS = 25.0
_SLOW_UPLOAD_BYTES = 100_000  # in a second: a file has as long as it takes at this speed
_MAX_AGE_SECONDS = 86_400.0  # an older message is not sent any more
_MAX_RETRY_SECONDS = 60.0
_MAX_ATTEMPTS = 5  # after errors of an unknown kind
_MAX_TASKS = 64  # concurrent sends
_PERMANENT_REFUSALS = ("forbidden", "not_found", "too_long", "bad_format")

logger = logging.getLogger(__name__)


class OutboxWorker(RowWorker):
    """Sends the outbox rows of the accounts that this gateway serves. A message that is being sent when the gateway
    stops is marked by the next sender."""

    topic = "outbox"

    async def _claim_batch(self) -> bool:
        room = _MAX_TASKS - len(self._tasks)
        accounts = [key for key, connection in self._context.connections.items() if connection.is_ours]
        if not accounts or room <= 0:
            return False
        items = await self._store.claim_outgoing(
            self._context.owner, lines=accounts, limit=room, seconds=self._context.lease_seconds
        )
        for item in items:
            self._start_task(self._send(item), f"outgoing {item.id}")
        return len(items) == room

    async def _send(self, item: Outgoing) -> None:
        adapter = self._context.connections[(item.platform, item.account)].adapter
        renewal = asyncio.create_task(self._renew(item))
        try:
            payload = decode_outbound(item)
            size = payload.file.size if payload.file is not None else 0
            async with asyncio.timeout(_SEND_TIMEOUT_SECONDS + size / _SLOW_UPLOAD_BYTES):
                sent = await self._post(adapter, item, payload)
            await self._mark_sent(item, "sent" if payload.grows or payload.buttons else "delivered", sent)
        except Conflict as error:
            logger.info("outgoing %s is handled by another gateway: %s", item.id, error)
        except SendRefused as refused:
            await self._handle_refusal(item, refused)
        except (PlatformDown, TimeoutError) as error:  # it may have arrived
            await self._retry_later(item, _retry_seconds(item), str(error) or "no answer in time", maybe_sent=True)
        except Exception as error:  # the edge of an adapter: plugin code may raise anything
            logger.exception("%s failed to send", item.platform)
            await self._retry_unknown(item, f"{type(error).__name__}: {error}", maybe_sent=True)
        finally:
            renewal.cancel()

    async def _mark_sent(self, item: Outgoing, state: Literal["sent", "delivered"], sent: Sent) -> None:
        """Records the delivery. Waits for an unavailable store: an unrecorded message would be sent again. Conflict."""
        mark = partial(self._store.finish_outgoing, item, state, message_id=sent.id)
        await retry_while_away(mark, f"outgoing {item.id}, which was sent,", seconds=math.inf)

    async def _renew(self, item: Outgoing) -> None:
        """Keeps the claim while a slow network answers."""
        with suppress(SojournError):
            while True:
                await asyncio.sleep(self._context.lease_seconds / 3)
                await self._store.renew_outgoing(item, seconds=self._context.lease_seconds)

    async def _post(self, adapter: PlatformAdapter, item: Outgoing, payload: OutboundPayload) -> Sent:
        if payload.file is not None and isinstance(adapter, CanSendFiles):
            sent = await self._send_file(adapter, item, payload, payload.file)
            if isinstance(sent, Sent):
                return sent
            payload = sent
        text = (DUPLICATE_MARK if item.possible_duplicate else "") + without_calls(payload.text, adapter.info)
        try:
            if payload.buttons and isinstance(adapter, CanAsk):
                return await adapter.ask(payload.place, text, payload.buttons, reply_to=payload.reply_to)
            return await adapter.send(payload.place, text, reply_to=payload.reply_to)
        except SendRefused as refused:
            if refused.kind not in ("bad_format", "too_long"):
                raise
            return await self._send_unformatted(adapter, payload, text, in_halves=refused.kind == "too_long")

    async def _send_file(
        self, adapter: CanSendFiles, item: Outgoing, payload: OutboundPayload, attachment: Attachment
    ) -> Sent | OutboundPayload:
        """Sends a file; if the network refuses it, gives a payload with a line of text about it instead."""
        try:
            assert item.session is not None
            data, _ = await self._store.get_blob(item.session, attachment.hash)
            file = File(name=attachment.name or "file", media_type=attachment.media_type, data=data)
            caption = DUPLICATE_MARK.strip() if item.possible_duplicate else ""
            return await adapter.send_file(payload.place, file, caption=caption)
        except NotFound as error:
            return replace(payload, text=file_line(attachment, str(error)))
        except SendRefused as refused:
            if refused.kind in ("rate_limited", "transient", "not_found"):
                raise
            return replace(payload, text=file_line(attachment, f"{refused} {refused.hint}".strip()))

    async def _send_unformatted(
        self, adapter: PlatformAdapter, payload: OutboundPayload, text: str, *, in_halves: bool
    ) -> Sent:
        """Sends plain text; in pieces of half the declared size if the network refused that size."""
        info = adapter.info
        *first, last = split_text(text, info.max_chars // 2, info.counting) if in_halves else [text]
        for piece in first:
            await adapter.send(payload.place, piece, plain=True)
        if payload.buttons and isinstance(adapter, CanAsk):
            return await adapter.ask(payload.place, last, payload.buttons, plain=True)
        return await adapter.send(payload.place, last, plain=True)

    async def _handle_refusal(self, item: Outgoing, refused: SendRefused) -> None:
        if refused.kind in ("rate_limited", "transient"):
            await self._retry_later(item, max(0.05, refused.retry_after or _retry_seconds(item)), str(refused))
        elif refused.kind in _PERMANENT_REFUSALS:
            await self._mark_failed(item, f"{refused.kind}: {refused}")
        else:
            await self._retry_unknown(item, str(refused))

    async def _retry_unknown(self, item: Outgoing, error: str, *, maybe_sent: bool = False) -> None:
        """Retries after an error of an unknown kind, a few times."""
        if item.attempts >= _MAX_ATTEMPTS:
            await self._mark_failed(item, error)
        else:
            await self._retry_later(item, _retry_seconds(item), error, maybe_sent=maybe_sent)

    async def _retry_later(self, item: Outgoing, seconds: float, error: str, *, maybe_sent: bool = False) -> None:
        if time.time() - item.created_at > _MAX_AGE_SECONDS:
            return await self._mark_failed(item, error)
        try:
            await self._store.release_outgoing(item, seconds=seconds, error=error, maybe_sent=maybe_sent)
        except SojournError as problem:
            logger.warning("outgoing %s: %s", item.id, problem)

    async def _mark_failed(self, item: Outgoing, error: str) -> None:
        logger.warning("outgoing %s to %s could not be delivered: %s", item.id, item.platform, error)
        try:
            await self._store.finish_outgoing(item, "failed", error=error)
        except SojournError as problem:
            logger.warning("outgoing %s: %s", item.id, problem)


def _retry_seconds(item: Outgoing) -> float:
    return float(min(_MAX_RETRY_SECONDS, 0.5 * 2 ** min(item.attempts, 8)))
