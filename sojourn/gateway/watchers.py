"""Session watchers: conversations that see a session's messages without driving it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import SojournError, StoreUnavailable
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.sessions import Principal, SessionId
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget
from sojourn.ports.store import Record, RecordStore
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import mark_identifiers

_KIND = "gateway_watch"
_POLL_SECONDS = 1.0

logger = logging.getLogger(__name__)


async def start_watch(
    store: RecordStore, key: str, session: SessionId, to: ReplyTarget, principal: Principal, after: int
) -> None:
    """Stores that a conversation watches a session from the sequence number `after` on."""
    value = mark_identifiers(encode_value(to)) | {"after": after}
    await store.put_record(Record(kind=_KIND, key=key, value=value, principal=principal, session=session))


async def find_watched(store: RecordStore, key: str) -> SessionId | None:
    """The session a conversation watches."""
    record = await store.get_record(_KIND, key)
    return record.session if record else None


async def stop_watch(store: RecordStore, key: str) -> bool:
    return await store.delete_record(_KIND, key)


class SessionWatchers:
    """Sends the messages of watched sessions to the conversations on this gateway's connections."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._update_tasks()
                except StoreUnavailable as error:
                    logger.warning("the list of watchers cannot be read: %s", error)
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            await cancel_tasks(self._tasks.values())

    async def _update_tasks(self) -> None:
        """Starts a task for each new watcher, and cancels those that nobody needs."""
        records = dict[tuple[str, str], Record]()
        for record in await self._context.store.list_records(_KIND):
            connection = self._context.connections.get((record.value["platform"], record.value["account"]))
            if connection is not None and connection.is_ours and record.session is not None:
                records[(record.key, record.session)] = record
        for name in [name for name, task in self._tasks.items() if name not in records or task.done()]:
            self._tasks.pop(name).cancel()
        for name, record in records.items():
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._send_messages(record))

    async def _send_messages(self, record: Record) -> None:
        assert record.session is not None
        session, after = record.session, int(record.value["after"])
        to = replace(decode_value(ReplyTarget, record.value), session=session)
        try:
            log = self._context.service.watch(session, after=after, principal=record.principal)
            async with aclosing(log):
                async for entry in log:
                    text = _render(entry.item) if isinstance(entry.item, Message) else ""
                    if text and await find_watched(self._context.store, record.key) != session:
                        return  # the conversation drives the session now, or watches another one
                    if text:
                        await self._context.enqueue_text(to, f"watch:{record.key}:{entry.public_id}", text)
        except SojournError as error:
            logger.info("%s no longer watches %s: %s", record.key, session, error)


def _render(message: Message) -> str:
    text = text_of(message).strip()
    if message.role == "user" and text and not is_internal(message):
        return f"› {text}"
    return text if message.role == "assistant" else ""
