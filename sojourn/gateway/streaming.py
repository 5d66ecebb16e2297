"""Messages that are edited in place: a streamed answer, and an approval prompt that shows its result.

The first version goes through the outbox. Its row stays `sent` until the last edit and is `delivered` afterwards, so
that another gateway finds it after a crash and edits it instead of sending it again.
"""

from __future__ import annotations

import asyncio
import logging
import time

from sojourn.core.errors import Conflict, PlatformFailed
from sojourn.core.sessions import SessionId
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget, decode_outbound
from sojourn.gateway.render import DUPLICATE_MARK, measure_length, split_messages, without_calls
from sojourn.ports.gateway_store import Outgoing
from sojourn.ports.platform import CanEdit, PlatformInfo, Sent
from sojourn.ports.service import Turn

_MIN_FIRST_CHARS = 24  # a shorter beginning is not sent as a message
_MORE = " …"
_EDIT_ATTEMPTS = 3
_EDIT_RETRY_SECONDS, _MAX_EDIT_RETRY_SECONDS = 0.5, 10.0
_POLL_SECONDS = 0.05

logger = logging.getLogger(__name__)


class SentMessage:
    """Edits sent messages of one session in one place. `adapter` is None where the network cannot edit messages."""

    def __init__(self, context: GatewayContext, session: SessionId, to: ReplyTarget) -> None:
        self._store, self._session, self._to = context.store, session, to
        adapter = context.find_adapter(to)
        self._info = adapter.info if adapter is not None else None
        self.adapter: CanEdit | None = adapter if adapter is not None and isinstance(adapter, CanEdit) else None

    async def find(self, key: str) -> Outgoing | None:
        """The row with that key, if it can still be edited."""
        states = ("pending", "sending", "sent")
        rows = await self._store.outgoing(session=self._session, place=self._to.key, states=states)
        return next((row for row in rows if row.key == key), None)

    async def wait_until_sent(self, row: Outgoing) -> Outgoing:
        """The row as it is after its message was sent; its state is another one if that failed."""
        current: Outgoing | None = row
        while current is not None and current.state in ("pending", "sending"):
            row = current
            await asyncio.sleep(_POLL_SECONDS)
            current = await self.find(row.key)
        return current or row

    async def edit(self, row: Outgoing, text: str, *, attempts: int = _EDIT_ATTEMPTS) -> bool:
        """Replaces the text of a message. False if the network refuses."""
        assert self.adapter is not None
        assert self._info is not None
        text = without_calls(text, self._info)
        mark = DUPLICATE_MARK if row.possible_duplicate else ""
        sent = Sent(place=decode_outbound(row).place, id=row.message_id)
        for attempt in range(1, attempts + 1):
            try:
                await self.adapter.edit(sent, mark + text)
                return True
            except PlatformFailed as error:
                logger.info("message %s could not be edited: %s", row.id, error)
                if attempt < attempts:
                    pause = getattr(error, "retry_after", None) or _EDIT_RETRY_SECONDS
                    await asyncio.sleep(min(_MAX_EDIT_RETRY_SECONDS, pause))
        return False

    async def finish(self, row: Outgoing) -> None:
        """Marks the row as delivered: there will be no more edits."""
        try:
            await self._store.finish_outgoing(row, "delivered", message_id=row.message_id)
        except Conflict as error:
            logger.info("outgoing %s is handled by another gateway: %s", row.id, error)


class StreamingMessage:
    """Shows the answers of one turn while they are written. Does nothing where the network cannot edit messages."""

    def __init__(self, context: GatewayContext, turn: Turn, to: ReplyTarget, handoff: str) -> None:
        self._store, self._turn, self._to, self._handoff = context.store, turn, to, handoff
        self._interval_seconds = float(context.settings["gateway.streaming_seconds"])
        self._message = SentMessage(context, turn.session, to)
        adapter = context.find_adapter(to)
        self._info: PlatformInfo | None = None  # None: the answer is not streamed
        if adapter is not None and context.settings["gateway.streaming"] and self._message.adapter is not None:
            self._info = adapter.info
        self._number = 0  # of the answer within the turn
        self._reset()

    def _reset(self) -> None:
        self._text, self._visible_text = "", ""
        self._next_edit = 0.0
        self._is_enqueued = False

    @property
    def key(self) -> str:
        return f"{self._turn.id}/live/{self._number}"

    async def append(self, piece: str) -> None:
        """Adds a piece of the answer, and updates the message if it is time."""
        self._text += piece
        now = time.monotonic()
        self._next_edit = self._next_edit or now + self._interval_seconds
        if self._info is None or now < self._next_edit or len(self._text) < _MIN_FIRST_CHARS:
            return
        self._next_edit = now + self._interval_seconds
        pieces = split_messages(self._text, self._info, reserve=measure_length(_MORE, self._info.counting))
        text = "".join(pieces[:1]) + _MORE
        if not self._is_enqueued:
            self._is_enqueued = True
            draft = self._to.draft(self.key, text, handoff=self._handoff, grows=self._turn.id)
            await self._store.put_outgoing([draft])
        elif text != self._visible_text:
            row = await self._message.find(self.key)
            if row is not None and row.state == "sent" and await self._message.edit(row, text, attempts=1):
                self._visible_text = text

    async def complete(self, text: str) -> str:
        """Completes the streamed message with the whole answer, and gives the part that is still to be sent."""
        row = await self._message.find(self.key) if self._info is not None else None
        self._reset()
        self._number += 1
        if row is None or self._info is None:
            return text
        row = await self._message.wait_until_sent(row)
        first, *rest = split_messages(text, self._info) or [""]
        if row.state != "sent" or not await self._message.edit(row, first):
            return text  # it was not sent or cannot be edited: the answer is sent as usual
        await self._message.finish(row)
        return "\n".join(rest)
