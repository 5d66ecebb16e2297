"""A message that grows while its answer is written, where a network can change what it shows.

The first words go through the outbox like everything else; its row stays `sent` until the whole answer stands there,
then it is `delivered`. So whoever goes on after a crash finds it, and changes it once more instead of saying it again.
"""

from __future__ import annotations

import asyncio
import logging
import time

from sojourn.core.errors import Conflict, PlatformFailed
from sojourn.gateway.desk import Desk
from sojourn.gateway.letters import Address, parcel_of
from sojourn.gateway.render import AGAIN, size, split
from sojourn.ports.journal import Outgoing
from sojourn.ports.platform import CanEdit, PlatformInfo, Sent
from sojourn.ports.service import Turn

_FIRST_WORDS = 24  # characters worth a message of their own
_TRIES = 3
_MORE = " …"

logger = logging.getLogger(__name__)


class Growing:
    """What one turn says, one message after another. Does nothing where a network cannot change messages."""

    def __init__(self, desk: Desk, turn: Turn, to: Address, handoff: str) -> None:
        self._desk, self._turn, self._to, self._handoff = desk, turn, to, handoff
        self._seconds = float(desk.settings["gateway.streaming_seconds"])
        line = desk.lines.get((to.platform, to.account))
        able = bool(desk.settings["gateway.streaming"]) and line is not None and isinstance(line.adapter, CanEdit)
        self._adapter: CanEdit | None = line.adapter if line is not None and able else None  # type: ignore[assignment]
        self._info: PlatformInfo | None = line.adapter.info if line is not None else None
        self._text, self._shown, self._number = "", "", 0
        self._next = 0.0
        self._begun = False

    @property
    def key(self) -> str:
        return f"{self._turn.id}/live/{self._number}"

    async def grow(self, piece: str) -> None:
        """Some more of the answer."""
        self._text += piece
        now = time.monotonic()
        self._next = self._next or now + self._seconds
        if self._adapter is None or now < self._next or len(self._text) < _FIRST_WORDS:
            return
        self._next = now + self._seconds
        if not self._begun:
            self._begun = True
            first = self._to.draft(self.key, self._visible(), handoff=self._handoff, grows=self._turn.id)
            await self._desk.store.put_outgoing([first])
        elif (row := await self._row()) is not None and row.state == "sent" and self._visible() != self._shown:
            await self._edit(row, self._visible())

    def _visible(self) -> str:
        """As much as fits into one message, with a sign that more comes."""
        assert self._info is not None
        room = self._info.max_chars - size(AGAIN + _MORE, self._info.counting)
        pieces = split(self._text, room, self._info.counting)
        return (pieces[0] if pieces else "") + _MORE

    async def whole(self, text: str) -> str:
        """The answer is complete: what grew is made whole. Gives the part that is still to be said."""
        row = await self._row() if self._adapter is not None else None
        self._text, self._shown, self._next, self._begun = "", "", 0.0, False
        self._number += 1
        if row is None:
            return text
        row = await self._until_sent(row)
        assert self._info is not None
        first, *rest = split(text, self._info.max_chars - size(AGAIN, self._info.counting), self._info.counting) or [""]
        if row.state != "sent" or not await self._edit(row, first):
            return text  # it never got there, or cannot be changed: then it is said as usual
        try:
            await self._desk.store.finish_outgoing(row, "delivered", message_id=row.message_id)
        except Conflict as error:
            logger.info("outgoing %s is cared for elsewhere: %s", row.id, error)
        return "\n".join(rest)

    async def _row(self) -> Outgoing | None:
        rows = await self._desk.store.outgoing(
            session=self._turn.session, place=self._to.key, states=("pending", "sending", "sent")
        )
        return next((row for row in rows if row.key == self.key), None)

    async def _until_sent(self, row: Outgoing) -> Outgoing:
        """The first words are on their way; they are changed when they have arrived."""
        found: Outgoing | None = row
        while found is not None and found.state in ("pending", "sending"):
            row = found
            await asyncio.sleep(0.05)
            found = await self._row()
        return found or row

    async def _edit(self, row: Outgoing, text: str) -> bool:
        assert self._adapter is not None
        mark = AGAIN if row.possible_duplicate else ""
        sent = Sent(place=parcel_of(row).place, id=row.message_id)
        last = not text.endswith(_MORE)
        for _ in range(_TRIES if last else 1):
            try:
                await self._adapter.edit(sent, mark + text)
            except PlatformFailed as error:
                logger.info("%s could not be changed: %s", row.id, error)
                if last:
                    await asyncio.sleep(min(10.0, getattr(error, "retry_after", None) or 0.5))
                continue
            self._shown = text
            return True
        return False
