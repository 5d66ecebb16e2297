"""Session operations other than turns: read, undo, attach, change the driver."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput
from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.service import Caller
from sojourn.ports.store import Store
from sojourn.service.agent import summary_place
from sojourn.service.turn_controls import to_driver_changed
from sojourn.service.turn_record import acquire_lease
from sojourn.service.turn_writer import STATE_KIND, brief_lease

MAX_ATTACHMENT_BYTES = 50_000_000  # of one attachment
_TAKE_OVER_SECONDS = 3.0  # for a running turn to answer


class SessionOperations:
    """Session operations over the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get_for(self, session: SessionId, principal: Principal) -> Session:
        """The session, if it belongs to `principal` or `principal` is the owner. NotFound."""
        return await self._store.get(session, principal=None if principal == OWNER else principal)

    async def messages(self, session: SessionId) -> list[Recorded]:
        return [kept async for kept in self._store.read(session, messages_only=True)]

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Hides the last request and everything after it, and deletes the saved state of runtimes."""
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

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str) -> Attachment:
        if len(data) > MAX_ATTACHMENT_BYTES:
            raise BadInput(
                f"{name or 'The attachment'} has {len(data):,} bytes.",
                hint=f"At most {MAX_ATTACHMENT_BYTES:,} can be attached.",
            )
        hash = await self._store.put_blob(session, data, media_type=media_type, name=name)
        return Attachment(hash=hash, media_type=media_type, name=name, size=len(data))

    async def check_attached(self, session: SessionId, attachments: tuple[Attachment, ...]) -> None:
        for one in attachments:
            await self._store.get_blob(session, one.hash)  # NotFound

    # the driver
    async def request_driver(self, session: Session, turn: TurnId, by: Caller) -> bool:
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

    async def set_driver(self, session: Session, by: Caller) -> None:
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
