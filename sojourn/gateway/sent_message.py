"""Messages of ours that stand somewhere and are changed once more.

Their row stays `sent` until then, and is `delivered` afterwards. So whoever goes on after a crash finds it, and changes
it instead of saying it again.
"""

from __future__ import annotations

import asyncio
import logging

from sojourn.core.errors import Conflict, PlatformFailed
from sojourn.core.sessions import SessionId
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget, decode_outbound
from sojourn.gateway.render import DUPLICATE_MARK
from sojourn.ports.gateway_store import Outgoing
from sojourn.ports.platform import CanEdit, Sent

TRIES = 3

logger = logging.getLogger(__name__)


class SentMessage:
    """The messages of one session in one place. `adapter` is None where a network cannot change messages."""

    def __init__(self, desk: GatewayContext, session: SessionId, to: ReplyTarget) -> None:
        self._desk, self._session, self._to = desk, session, to
        line = desk.lines.get((to.platform, to.account))
        self.adapter: CanEdit | None = line.adapter if line is not None and isinstance(line.adapter, CanEdit) else None

    async def row(self, key: str) -> Outgoing | None:
        """What was put under that key and still stands to be changed."""
        rows = await self._desk.store.outgoing(
            session=self._session, place=self._to.key, states=("pending", "sending", "sent")
        )
        return next((row for row in rows if row.key == key), None)

    async def until_sent(self, row: Outgoing) -> Outgoing:
        """It is on its way; it can be changed when it has arrived."""
        found: Outgoing | None = row
        while found is not None and found.state in ("pending", "sending"):
            row = found
            await asyncio.sleep(0.05)
            found = await self.row(row.key)
        return found or row

    async def show(self, row: Outgoing, text: str, *, tries: int = TRIES) -> bool:
        """False: it could not be changed."""
        assert self.adapter is not None
        mark = DUPLICATE_MARK if row.possible_duplicate else ""
        sent = Sent(place=decode_outbound(row).place, id=row.message_id)
        for again in range(tries):
            try:
                await self.adapter.edit(sent, mark + text)
                return True
            except PlatformFailed as error:
                logger.info("%s could not be changed: %s", row.id, error)
                if again < tries - 1:
                    await asyncio.sleep(min(10.0, getattr(error, "retry_after", None) or 0.5))
        return False

    async def finish(self, row: Outgoing) -> None:
        """It stands as it should."""
        try:
            await self._desk.store.finish_outgoing(row, "delivered", message_id=row.message_id)
        except Conflict as error:
            logger.info("outgoing %s is cared for elsewhere: %s", row.id, error)
