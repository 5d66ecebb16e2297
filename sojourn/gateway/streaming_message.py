"""A message that grows while its answer is written, where a network can change what it shows.

The first words go through the outbox like everything else, and are changed until the whole answer stands there.
"""

from __future__ import annotations

import time

from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget
from sojourn.gateway.render import DUPLICATE_MARK, measure_length, split_text
from sojourn.gateway.sent_message import SentMessage
from sojourn.ports.platform import PlatformInfo
from sojourn.ports.service import Turn

_FIRST_WORDS = 24  # characters worth a message of their own
_MORE = " …"


class StreamingMessage:
    """What one turn says, one message after another. Does nothing where a network cannot change messages."""

    def __init__(self, desk: GatewayContext, turn: Turn, to: ReplyTarget, handoff: str) -> None:
        self._desk, self._turn, self._to, self._handoff = desk, turn, to, handoff
        self._seconds = float(desk.settings["gateway.streaming_seconds"])
        self._changing = SentMessage(desk, turn.session, to)
        self._able = bool(desk.settings["gateway.streaming"]) and self._changing.adapter is not None
        line = desk.lines.get((to.platform, to.account))
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
        if not self._able or now < self._next or len(self._text) < _FIRST_WORDS:
            return
        self._next = now + self._seconds
        if not self._begun:
            self._begun = True
            first = self._to.draft(self.key, self._visible(), handoff=self._handoff, grows=self._turn.id)
            await self._desk.store.put_outgoing([first])
        elif (visible := self._visible()) != self._shown:
            row = await self._changing.row(self.key)
            if row is not None and row.state == "sent" and await self._changing.show(row, visible, tries=1):
                self._shown = visible

    def _visible(self) -> str:
        """As much as fits into one message, with a sign that more comes."""
        assert self._info is not None
        room = self._info.max_chars - measure_length(DUPLICATE_MARK + _MORE, self._info.counting)
        pieces = split_text(self._text, room, self._info.counting)
        return (pieces[0] if pieces else "") + _MORE

    async def whole(self, text: str) -> str:
        """The answer is complete: what grew is made whole. Gives the part that is still to be said."""
        row = await self._changing.row(self.key) if self._able else None
        self._text, self._shown, self._next, self._begun = "", "", 0.0, False
        self._number += 1
        if row is None:
            return text
        row = await self._changing.until_sent(row)
        assert self._info is not None
        first, *rest = split_text(
            text, self._info.max_chars - measure_length(DUPLICATE_MARK, self._info.counting), self._info.counting
        ) or [""]
        if row.state != "sent" or not await self._changing.show(row, first):
            return text  # it never got there, or cannot be changed: then it is said as usual
        await self._changing.finish(row)
        return "\n".join(rest)
