"""Reply tickets: what a network demands with an answer, kept in our store so that a restart does not lose them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace

from sojourn.core.places import Place, build_session_key
from sojourn.ports.store import Record, RecordStore
from sojourn.text.redaction import Identifier

KIND = "platform_ticket"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTicket:
    """The right to answer in one place, for a time and for a number of messages."""

    value: str
    expires_at: float  # in seconds since 1970
    used: int = 0  # messages sent with it
    max_uses: int = 0  # 0: any number


class ReplyTickets:
    """The newest ticket of each place of one account."""

    def __init__(self, store: RecordStore, platform: str, account: str) -> None:
        self._store, self._prefix, self._lock = store, f"{platform}:{account}:", asyncio.Lock()

    async def save(self, place: Place, value: str, *, expires_at: float, max_uses: int = 0) -> None:
        """Stores the ticket of a message there. The same ticket again keeps its count, and an older message that comes
        late takes nothing away."""
        async with self._lock:
            known = await self.find(place)
            if known is None or (known.value != value and known.expires_at <= expires_at):
                await self._put(place, ReplyTicket(value=value, expires_at=expires_at, max_uses=max_uses))

    async def find(self, place: Place) -> ReplyTicket | None:
        """The ticket of a place, if it can still be used."""
        record = await self._store.get_record(KIND, self._key(place))
        if record is None or not isinstance(record.value, dict):
            return None
        saved = record.value
        ticket = ReplyTicket(
            value=str(saved.get("value", "")),
            expires_at=float(saved.get("expires_at", 0)),
            used=int(saved.get("used", 0)),
            max_uses=int(saved.get("max_uses", 0)),
        )
        is_over = time.time() >= ticket.expires_at or (0 < ticket.max_uses <= ticket.used)
        return None if is_over else ticket

    async def take(self, place: Place) -> ReplyTicket | None:
        """The ticket for one more message, counted before it is sent: `used` is the number of that message."""
        async with self._lock:  # no two messages get the same number
            if (ticket := await self.find(place)) is None:
                return None
            taken = replace(ticket, used=ticket.used + 1)
            await self._put(place, taken)
            return taken

    async def discard(self, place: Place) -> None:
        """Forgets a ticket that the network refused."""
        await self._store.delete_record(KIND, self._key(place))

    async def _put(self, place: Place, ticket: ReplyTicket) -> None:
        value = {
            "value": Identifier(ticket.value),
            "expires_at": ticket.expires_at,
            "used": ticket.used,
            "max_uses": ticket.max_uses,
        }
        await self._store.put_record(Record(kind=KIND, key=self._key(place), value=value))

    def _key(self, place: Place) -> str:
        return self._prefix + build_session_key(place)
