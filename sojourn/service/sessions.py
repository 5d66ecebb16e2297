"""Session operations of the service: find, read, change, undo, attach, change the driver."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, SojournError
from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.service import Caller, ExportFormat
from sojourn.ports.store import Listing, Log, SearchHit, SearchQuery, Store
from sojourn.service.agent import summary_place
from sojourn.service.recovery import Recovery
from sojourn.service.turn_controls import to_driver_changed
from sojourn.service.turn_record import acquire_lease, find_running
from sojourn.service.turn_writer import STATE_KIND, brief_lease
from sojourn.text.export import to_jsonl, to_markdown

MAX_ATTACHMENT_BYTES = 50_000_000
SWEEP_SECONDS = 15.0
_TAKE_OVER_SECONDS = 3.0  # for a running turn to answer

logger = logging.getLogger(__name__)


class SessionOperations:
    """The part of ports.Service that needs no runtime. Recovery runs before the first request, then regularly."""

    def __init__(self, store: Store, is_local: Callable[[TurnId], bool]) -> None:
        self._store, self._recovery = store, Recovery(store, is_local)
        self._recovered = asyncio.Event()
        self._sweeping: asyncio.Task[None] | None = None

    async def _recover_first(self) -> None:
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep())
        await self._recovered.wait()

    async def _sweep(self) -> None:
        while True:
            try:
                await self._recovery.sweep()
            except SojournError as error:
                logger.warning("recovery could not check turns of other processes: %s", error)
            finally:
                self._recovered.set()
            await asyncio.sleep(SWEEP_SECONDS)

    # reading
    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session:
        """The session, if it belongs to `principal` or `principal` is the owner. NotFound."""
        await self._recover_first()
        return await self._store.get(session, principal=None if principal == OWNER else principal)

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        await self._recover_first()
        return await self._store.resolve(words, principal=principal)

    async def find(self, listing: Listing) -> list[Session]:
        return await self._store.find(listing)

    async def search(self, search: SearchQuery) -> list[SearchHit]:
        return await self._store.search(search)

    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]:
        await self.get(session, principal=principal)
        return [kept async for kept in self._store.read(session, messages_only=True)]

    async def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log:
        await self._recover_first()
        if principal != OWNER:  # the owner may see every session; the store raises NotFound
            await self.get(session, principal=principal)
        async with aclosing(self._store.watch(session, after=after)) as log:
            async for kept in log:
                yield kept

    async def export(
        self, session: SessionId, format: ExportFormat = "markdown", *, principal: Principal = OWNER
    ) -> str:
        render = to_markdown if format == "markdown" else to_jsonl
        return "".join(render(await self.get(session, principal=principal), await self.messages(session)))

    async def running(self, session: SessionId) -> TurnId | None:
        await self._recover_first()
        record = await find_running(self._store, session)
        return record.id if record else None

    # writing
    async def change(self, old: Session, new: Session) -> Session:
        return await self._store.change(old, new)

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Also deletes the saved state of runtimes."""
        await self.get(session, principal=by.principal)
        lease = await acquire_lease(self._store, session, holder=caller_label(by), surface=by.surface)
        async with brief_lease(self._store, lease):
            live = [kept for kept in await self.messages(session) if _is_live(kept)]
            requests = [kept.seq for kept in live if isinstance(kept.item, Message) and kept.item.role == "user"]
            if not requests:
                return 0
            seqs = [kept.seq for kept in live if kept.seq >= requests[-1]]
            hidden = await self._store.set_flags(lease, seqs, active=False, compacted=False)
            for record in await self._store.list_records(STATE_KIND, session=session):
                await self._store.delete_record(STATE_KIND, record.key)
            return hidden

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        if len(data) > MAX_ATTACHMENT_BYTES:
            raise BadInput(
                f"{name or 'The attachment'} has {len(data):,} bytes.",
                hint=f"At most {MAX_ATTACHMENT_BYTES:,} can be attached.",
            )
        hash = await self._store.put_blob(session, data, media_type=media_type, name=name)
        return Attachment(hash=hash, media_type=media_type, name=name, size=len(data))

    # the driver
    async def take_over(self, session: SessionId, by: Caller) -> Session:
        found = await self.get(session, principal=by.principal)
        if found.driver == by.surface:
            return found
        now = await find_running(self._store, session)
        if now is None or not await self._request_driver(found, now.id, by):
            if (await self._store.get(session)).driver != by.surface:  # handed over at the same moment
                await self._set_driver(found, by)
            await self._recovery.sweep(session)  # a turn that did not answer has lost its lease
        return await self._store.get(session)

    async def _request_driver(self, session: Session, turn: TurnId, by: Caller) -> bool:
        """Asks the running turn to go on for this surface. False if it does not answer in time."""
        control = {"turn": turn, "surface": by.surface}
        await self._store.send_control(session.id, "take", control, by=caller_label(by))
        try:
            async with (
                asyncio.timeout(_TAKE_OVER_SECONDS),
                aclosing(self._store.watch(session.id, after=session.last_seq)) as log,
            ):
                async for kept in log:
                    item = kept.item
                    if isinstance(item, Progress) and item.stage == "handoff" and item.detail["to"] == by.surface:
                        return True
                    if isinstance(item, Done):
                        return False  # it ended before it read the control
        except TimeoutError:
            pass
        return False

    async def _set_driver(self, session: Session, by: Caller) -> None:
        """Makes `by.surface` the driver and records that. Conflict if another surface did so at the same moment."""
        await self._store.set_driver(session.id, by.surface, fence=session.driver_fence)
        lease = await acquire_lease(self._store, session.id, holder=caller_label(by), surface=by.surface)
        async with brief_lease(self._store, lease):
            await self._store.append(lease, [to_driver_changed(session.driver, by.surface, caller_label(by))])


def caller_label(by: Caller) -> str:
    """Names the caller for people."""
    return by.holder or by.name or by.surface


def _is_live(kept: Recorded) -> bool:
    item = kept.item
    return isinstance(item, Message) and item.active and not summary_place(item)
