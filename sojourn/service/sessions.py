"""Sessions as a surface sees them: open, read, undo, attach, take the wheel."""

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
from sojourn.service.begun import lease_soon
from sojourn.service.hearing import handed_over
from sojourn.service.keeping import STATE
from sojourn.service.log import held

MOST_BYTES = 50_000_000  # of one attachment
_HANDOVER = 3.0  # seconds a running turn has to hand over by itself


class Sessions:
    """Everything about sessions that is not a turn."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def seen(self, session: SessionId, principal: Principal) -> Session:
        """The session, for whom it belongs to and for the owner of the installation. NotFound for others."""
        return await self._store.get(session, principal=None if principal == OWNER else principal)

    async def messages(self, session: SessionId) -> list[Recorded]:
        return [kept async for kept in self._store.read(session, messages_only=True)]

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Hides the last request and everything after it. What runtimes remembered of it goes too."""
        lease = await lease_soon(self._store, session, holder=who(by), surface=by.surface)
        async with held(self._store, lease):
            live = [kept for kept in await self.messages(session) if _is_live(kept)]
            asked = [kept.seq for kept in live if isinstance(kept.item, Message) and kept.item.role == "user"]
            if not asked:
                return 0
            seqs = [kept.seq for kept in live if kept.seq >= asked[-1]]
            hidden = await self._store.set_flags(lease, seqs, active=False, compacted=False)
            for record in await self._store.list_records(STATE, session=session):
                await self._store.delete_record(STATE, record.key)
            return hidden

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str) -> Attachment:
        if len(data) > MOST_BYTES:
            raise BadInput(
                f"{name or 'The attachment'} has {len(data):,} bytes.", hint=f"At most {MOST_BYTES:,} can be attached."
            )
        hash = await self._store.put_blob(session, data, media_type=media_type, name=name)
        return Attachment(hash=hash, media_type=media_type, name=name, size=len(data))

    async def check_attached(self, session: SessionId, attachments: tuple[Attachment, ...]) -> None:
        for one in attachments:
            await self._store.get_blob(session, one.hash)  # NotFound

    # the wheel
    async def ask_for_wheel(self, session: Session, turn: TurnId, by: Caller) -> bool:
        """Asks the running turn to go on for this surface. False: it did not."""
        word = {"turn": turn, "surface": by.surface}
        await self._store.send_control(session.id, "take", word, by=who(by))
        try:
            async with (
                asyncio.timeout(_HANDOVER),
                aclosing(self._store.watch(session.id, after=session.last_seq)) as log,
            ):
                async for kept in log:
                    item = kept.item
                    if isinstance(item, Progress) and item.stage == "handoff" and item.detail["to"] == by.surface:
                        return True
                    if isinstance(item, Done):
                        return False  # it was over before it heard
        except TimeoutError:
            pass
        return False

    async def take_wheel(self, session: Session, by: Caller) -> None:
        """Moves the wheel, and shows it. Conflict when somebody else did so at this moment."""
        await self._store.drive(session.id, by.surface, fence=session.driver_fence)
        lease = await lease_soon(self._store, session.id, holder=who(by), surface=by.surface)
        async with held(self._store, lease):
            await self._store.append(lease, [handed_over(session.driver, by.surface, who(by))])


def who(by: Caller) -> str:
    """A person's word for whoever talks."""
    return by.holder or by.name or by.surface


def _is_live(kept: Recorded) -> bool:
    item = kept.item
    return isinstance(item, Message) and item.active and not summary_place(item)
