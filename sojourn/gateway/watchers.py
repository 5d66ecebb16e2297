"""Places that watch a session without driving it: what is said there is shown here, too."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing

from sojourn.core.codec import decode_value, encode_value
from sojourn.core.errors import SojournError, StoreUnavailable
from sojourn.core.messages import Message, is_internal, text_of
from sojourn.core.places import Place
from sojourn.core.sessions import Principal, SessionId
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget
from sojourn.ports.store import Record, RecordStore

_KIND = "gateway_watch"

logger = logging.getLogger(__name__)


async def start_watch(
    store: RecordStore, key: str, session: SessionId, to: ReplyTarget, principal: Principal, after: int
) -> None:
    """From now on that place is shown what happens in the session."""
    value = {
        "place": encode_value(to.place),
        "platform": to.platform,
        "account": to.account,
        "key": to.key,
        "after": after,
    }
    await store.put_record(Record(kind=_KIND, key=key, value=value, principal=principal, session=session))


async def find_watched(store: RecordStore, key: str) -> SessionId | None:
    """The session a place watches."""
    found = await store.get_record(_KIND, key)
    return found.session if found else None


async def stop_watch(store: RecordStore, key: str) -> bool:
    return await store.delete_record(_KIND, key)


class SessionWatchers:
    """Shows sessions to the places that watch them, for the lines of this gateway."""

    def __init__(self, desk: GatewayContext) -> None:
        self._desk = desk
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def run(self) -> None:
        try:
            while True:
                try:
                    await self._look()
                except StoreUnavailable as error:
                    logger.warning("nobody can be shown anything: %s", error)
                await asyncio.sleep(1.0)
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _look(self) -> None:
        wanted = dict[tuple[str, str], Record]()
        for record in await self._desk.store.list_records(_KIND):
            line = self._desk.lines.get((record.value["platform"], record.value["account"]))
            if line is not None and line.is_ours and record.session is not None:
                wanted[(record.key, record.session)] = record
        for name in [name for name in self._tasks if name not in wanted or self._tasks[name].done()]:
            self._tasks.pop(name).cancel()
        for name, record in wanted.items():
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._show(record))

    async def _show(self, record: Record) -> None:
        assert record.session is not None
        value, session = record.value, record.session
        to = ReplyTarget(
            platform=value["platform"],
            account=value["account"],
            key=value["key"],
            place=decode_value(Place, value["place"]),
            session=session,
        )
        try:
            log = self._desk.service.watch(session, after=int(value["after"]), principal=record.principal)
            async with aclosing(log):
                async for kept in log:
                    text = _shown(kept.item) if isinstance(kept.item, Message) else ""
                    if text and await find_watched(self._desk.store, record.key) != session:
                        return  # it took the wheel, or went elsewhere
                    if text:
                        await self._desk.tell(to, f"watch:{record.key}:{kept.public_id}", text)
        except SojournError as error:
            logger.info("%s no longer watches %s: %s", record.key, session, error)


def _shown(message: Message) -> str:
    text = text_of(message).strip()
    if message.role == "user" and text and not is_internal(message):
        return f"› {text}"
    return text if message.role == "assistant" else ""
