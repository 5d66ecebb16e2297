"""Approval prompts: the questions a turn asks, with buttons where the network has them.

A button's value is short, because networks limit its length; the question it belongs to is stored as a record. When the
question is settled, its message shows the choice, and the buttons are removed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, SessionId
from sojourn.gateway.chat_commands import InboundCall
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import ReplyTarget
from sojourn.gateway.question_view import QuestionView, build_view
from sojourn.gateway.render import answers_text, choice_label, file_line, settled_text, split_messages
from sojourn.gateway.streaming import SentMessage
from sojourn.ports.gateway_store import OutgoingDraft
from sojourn.ports.platform import Button, CanAsk, CanSendFiles
from sojourn.ports.service import Caller, Turn
from sojourn.ports.store import Record
from sojourn.ports.tool import Reply

Drafts = list[OutgoingDraft]
_KIND = "gateway_question"
_EDIT_TIMEOUT_SECONDS = 10.0
_RESULT_CHARS = 400
SETTLED = "That question has already been settled."
NOT_OWNER = "Only the owner can answer this."


@dataclass(frozen=True, slots=True)
class PendingPrompt:
    """A question in a chat: the key of the message with the buttons, its text without the last line, its token."""

    key: str
    text: str
    token: str


class ApprovalPrompts:
    """The questions of one turn in one place."""

    def __init__(self, context: GatewayContext, turn: Turn, to: ReplyTarget, by: Caller) -> None:
        self._context, self._session, self._to, self._by = context, turn.session, to, by
        self._message = SentMessage(context, turn.session, to)
        self._pending: dict[str, PendingPrompt] = {}
        adapter = context.find_adapter(to)
        has_owner = by.principal == OWNER or to.place.kind != "dm"  # a guest alone could not press a button
        can_ask = adapter is not None and isinstance(adapter, CanAsk)
        self._info = adapter.info if adapter is not None and can_ask and has_owner else None

    async def ask(
        self, key: str, detail: Mapping[str, Json], *, handoff: str = "", code: str = ""
    ) -> tuple[QuestionView, Drafts]:
        """The question as this chat may see it, and its messages; the last one has the buttons. Words answer it only
        with the code, if there is one."""
        info, view = self._info, build_view(detail)
        last_line = answers_text(view.choices, for_owner=self._by.principal == OWNER, code=code)
        files = await self._file_drafts(key, view, handoff)
        if info is None:
            drafts = self._context.drafts(self._to, key, f"{view.text}\n{last_line}", handoff=handoff)
            return view, [*files, *drafts]
        *first, text = split_messages(view.text, info, reserve=min(_RESULT_CHARS, info.max_chars // 4))
        token = _build_token(self._session, str(detail["question"]))
        value = {"question": detail["question"], "choices": view.choices}
        await self._context.store.put_record(Record(kind=_KIND, key=token, value=value, session=self._session))
        buttons = tuple(Button(label=choice_label(one), value=f"{token}:{n}") for n, one in enumerate(view.choices))
        self._pending[str(detail["question"])] = PendingPrompt(key=f"{key}/{len(first)}", text=text, token=token)
        texts = [*first, f"{text}\n{last_line}"]
        return view, [
            *files,
            *(
                self._to.draft(
                    f"{key}/{n}",
                    text,
                    handoff=handoff,
                    reply_to="" if n else self._to.reply_to,
                    buttons=buttons if n == len(first) else (),
                )
                for n, text in enumerate(texts)
            ),
        ]

    async def _file_drafts(self, key: str, view: QuestionView, handoff: str) -> Drafts:
        """The whole text as a file, where it was cut and the network takes files."""
        if not view.whole or not isinstance(self._context.find_adapter(self._to), CanSendFiles):
            return []
        data = view.whole.encode("utf-8", "replace")
        file = await self._context.service.attach(self._session, data, media_type="text/plain", name="question.txt")
        return [self._to.draft(f"{key}/file", file_line(file), handoff=handoff, reply_to="", file=file)]

    async def settle(self, detail: Mapping[str, Json]) -> None:
        """Edits the message of a question so that it shows the result."""
        prompt = self._pending.pop(str(detail.get("question")), None)
        if prompt is None:
            return
        await self._context.store.delete_record(_KIND, prompt.token)
        with suppress(TimeoutError):  # the buttons stay; pressing one gets the reply that the question is settled
            async with asyncio.timeout(_EDIT_TIMEOUT_SECONDS):
                row = await self._message.find(prompt.key)
                row = await self._message.wait_until_sent(row) if row is not None else None
                if row is not None and row.state == "sent":
                    if self._message.adapter is None:  # the buttons stay: a new message says how it ended, once
                        text = settled_text(detail)[:_RESULT_CHARS]
                        await self._context.enqueue_text(self._to, f"{prompt.key}/settled", text)
                    else:
                        await self._message.edit(row, f"{prompt.text}\n{settled_text(detail)[:_RESULT_CHARS]}")
                    await self._message.finish(row)

    async def close(self) -> None:
        """Settles the open questions of a turn that has ended."""
        for question in list(self._pending):
            await self.settle({"question": question, "choice": "deny", "why": "The turn has ended."})


async def handle_button(context: GatewayContext, call: InboundCall) -> None:
    """Answers a question with a pressed button. Only the owner may; the reply that it is settled is sent once."""
    item, by = call.item, call.by
    token, _, number = call.payload.pressed.partition(":")
    to = context.reply_target(item, call.payload.place)
    if not call.identity.is_owner:
        return await context.enqueue_text(to, f"in:{item.id}:reply", NOT_OWNER)
    record = await context.store.get_record(_KIND, token)
    choices = record.value["choices"] if record is not None else []
    try:
        if record is None or record.session is None or not number.isdecimal() or int(number) >= len(choices):
            raise NotFound("This question does not exist.")
        reply = Reply(choice=str(choices[int(number)]), by=by.name or by.surface)
        await context.service.answer(record.session, str(record.value["question"]), reply, by)
    except (NotFound, NotAllowed):
        await context.enqueue_text(to, f"over:{item.place}:{token}", SETTLED)


def _build_token(session: SessionId, question: str) -> str:
    return "q" + hashlib.sha256(f"{session}\n{question}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
