"""Questions a turn asks, with buttons where the network has them.

A button's value is short, because networks allow few letters; what it stands for is kept as a record. When the question
is over, however it was answered, its message shows the choice and the buttons are gone.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, SessionId
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload, ReplyTarget
from sojourn.gateway.render import (
    DUPLICATE_MARK,
    answers_text,
    choice_label,
    measure_length,
    question_text,
    settled_text,
    split_text,
)
from sojourn.gateway.sent_message import SentMessage
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.platform import Button, CanAsk
from sojourn.ports.service import Caller, Turn
from sojourn.ports.store import Record
from sojourn.ports.tool import Reply

_KIND = "gateway_question"
_SECONDS = 10.0  # for the message of a question that is over to arrive, so that it can be changed
_LAST_LINE = 400  # characters
OVER = "That question is over."
NOT_YOURS = "Only the owner can answer this."


@dataclass(frozen=True, slots=True)
class PendingPrompt:
    """A question that stands in a chat: the key of the message with the buttons, and the words above its last line."""

    key: str
    words: str
    token: str


class ApprovalPrompts:
    """The questions of one turn in one place."""

    def __init__(self, desk: GatewayContext, turn: Turn, to: ReplyTarget, by: Caller) -> None:
        self._desk, self._session, self._to, self._by = desk, turn.session, to, by
        self._changing = SentMessage(desk, turn.session, to)
        self._open: dict[str, PendingPrompt] = {}
        line = desk.lines.get((to.platform, to.account))
        self._info = line.adapter.info if line is not None and isinstance(line.adapter, CanAsk) else None

    @property
    def _has_buttons(self) -> bool:
        """Where only a guest is, nobody could press them."""
        somebody = self._by.principal == OWNER or self._to.place.kind != "dm"
        return somebody and self._info is not None and self._changing.adapter is not None

    async def asked(self, key: str, detail: Mapping[str, Json], *, handoff: str = "") -> list[OutgoingDraft]:
        """The question as messages; buttons stand under the last one."""
        last = answers_text(detail, for_owner=self._by.principal == OWNER)
        if not self._has_buttons:
            return self._desk.drafts(self._to, key, f"{question_text(detail)}\n{last}", handoff=handoff)
        info = self._info
        assert info is not None
        room = info.max_chars - measure_length(DUPLICATE_MARK, info.counting) - min(_LAST_LINE, info.max_chars // 4)
        *first, words = split_text(question_text(detail), room, info.counting)
        token = _token(self._session, str(detail["question"]))
        choices = [str(one) for one in detail.get("choices", ())]
        value = {"question": detail["question"], "choices": choices}
        await self._desk.store.put_record(Record(kind=_KIND, key=token, value=value, session=self._session))
        buttons = tuple(Button(label=choice_label(one), value=f"{token}:{n}") for n, one in enumerate(choices))
        self._open[str(detail["question"])] = PendingPrompt(key=f"{key}/{len(first)}", words=words, token=token)
        more: list[dict[str, Any]] = [
            {"handoff": handoff, "reply_to": "" if n else self._to.reply_to} for n in range(len(first) + 1)
        ]
        more[-1]["buttons"] = buttons
        texts = [*first, f"{words}\n{last}"]
        return [self._to.draft(f"{key}/{n}", texts[n], **more[n]) for n in range(len(texts))]

    async def answered(self, detail: Mapping[str, Json]) -> None:
        """It is over: the message says how."""
        asks = self._open.pop(str(detail.get("question")), None)
        if asks is None:
            return
        await self._desk.store.delete_record(_KIND, asks.token)
        with suppress(TimeoutError):  # then it stays as it is; whoever presses is told that it is over
            async with asyncio.timeout(_SECONDS):
                row = await self._changing.row(asks.key)
                row = await self._changing.until_sent(row) if row is not None else None
                if row is not None and row.state == "sent":
                    await self._changing.show(row, f"{asks.words}\n{settled_text(detail)[:_LAST_LINE]}")
                    await self._changing.finish(row)

    async def close(self) -> None:
        """The turn has ended; what it asked and nobody answered is over."""
        for name in list(self._open):
            await self.answered({"question": name, "choice": "deny", "why": "The turn has ended."})


async def handle_button(
    desk: GatewayContext, item: Incoming, letter: InboundPayload, person: Identity, by: Caller
) -> None:
    """Somebody pressed a button. Only the owner's counts; a question that is over says so, once."""
    token, _, number = letter.pressed.partition(":")
    to = desk.address(item, letter.place)
    if not person.is_owner:
        return await desk.tell(to, f"in:{item.id}:reply", NOT_YOURS)
    kept = await desk.store.get_record(_KIND, token)
    try:
        if kept is None or kept.session is None or not number.isdecimal() or int(number) >= len(kept.value["choices"]):
            raise NotFound("Nobody knows this question (any more).")
        reply = Reply(choice=str(kept.value["choices"][int(number)]), by=by.name or by.surface)
        await desk.service.answer(kept.session, str(kept.value["question"]), reply, by)
    except (NotFound, NotAllowed):
        await desk.tell(to, f"over:{item.place}:{token}", OVER)


def _token(session: SessionId, question: str) -> str:
    return "q" + hashlib.sha256(f"{session}\n{question}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
