"""The turn runner: runs a turn for a chat message and puts its output into the outbox.

Each output is keyed by its position in the session's log, so a turn can be followed again after a crash and nothing is
sent twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.errors import PlatformFailed, SessionBusy
from sojourn.core.events import Chunk, Done, Failed, Progress, Yielded
from sojourn.core.messages import Json, Message, tool_calls_of
from sojourn.core.sessions import Recorded, Session, SessionId, TurnId
from sojourn.gateway.approval_prompts import ApprovalPrompts
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import InboundPayload, ReplyTarget, decode_inbound
from sojourn.gateway.question_view import QuestionView
from sojourn.gateway.render import file_line, problem_text
from sojourn.gateway.streaming import StreamingMessage
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.platform import CanReact, CanType, Sent
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.ports.store import Log
from sojourn.text.codec import decode_value
from sojourn.text.transcript import text_without_files

_MAX_ATTEMPTS = 10  # turns for one message, if a crash interrupts each of them
_TYPING_SECONDS = 4.0  # between two typing signals
_REACTION_TIMEOUT_SECONDS = 10.0
_HOLD_SECONDS = 0.05  # for an answer to wait for the end of its turn
_UNFINISHED = ("interrupted", "cancelled", "failed")


@dataclass(slots=True)
class TurnOutcome:
    """The result of a turn, as read from its log."""

    turn: TurnId | None = None
    status: str = ""
    failed: Failed | None = None
    has_answer: bool = False  # the last message is a complete answer of the assistant
    has_acted: bool = False  # tools were called: running it again might repeat their effects

    @property
    def is_repeatable(self) -> bool:
        """Whether a crash interrupted the turn before it answered or acted."""
        return self.status == "interrupted" and not self.has_answer and not self.has_acted


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question that a chat shows: its event's detail, its view, and the keys of its messages."""

    detail: Mapping[str, Json]
    view: QuestionView
    keys: frozenset[str]


class ChatTurnState:
    """What the inbox can see of a running turn."""

    def __init__(self) -> None:
        self.session: SessionId | None = None  # in which it runs
        self.question: OpenQuestion | None = None  # what it asks
        self.steer_results: dict[str, bool] = {}  # text meant for it → whether it accepted the text
        self.unsent: list[OutgoingDraft] = []  # its answer, which is stored with the end of the message


class TurnRunner:
    """Runs turns for chats and enqueues their answers."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context

    async def answer(
        self,
        item: Incoming,
        session: Session,
        request: TurnRequest,
        by: Caller,
        to: ReplyTarget,
        *,
        handoff: str = "",
        state: ChatTurnState | None = None,
    ) -> TurnOutcome:
        """Runs the turn for a message, or goes on with it where a crash interrupted it.

        handoff: the hand-off whose first turn this is; its failure is not sent to the chat.
        state: updated while the turn runs; the caller stores what is `unsent` in the end.
        """
        store, outcome = self._context.store, TurnOutcome()
        for attempt in range(_MAX_ATTEMPTS):
            key = (f"handoff:{handoff}" if handoff else f"gateway:{item.id}") + (f":{attempt}" if attempt else "")
            turn = await self._context.service.say(session.id, replace(request, key=key), by, when_busy="wait")
            if item.session != session.id:
                item = await store.update_incoming(
                    item, seconds=self._context.lease_seconds, session=session.id, turn=turn.id
                )
            follower = _TurnFollower(self._context, turn, to, by, handoff, state)
            async with _show_presence(self._context, to, decode_inbound(item)):
                outcome = await follower.run()
            if not outcome.is_repeatable:
                return outcome
            item = await store.update_incoming(item, seconds=self._context.lease_seconds)  # LeaseLost: no longer ours
            await self._undo(turn, by)
        if outcome.failed and not handoff:
            text = problem_text(outcome.failed.message, outcome.failed.hint)
            await self._context.enqueue_text(to, f"in:{item.id}:cut", text)
        return outcome

    async def _undo(self, turn: Turn, by: Caller) -> None:
        """Hides the prompt of an interrupted turn, so that the model does not see it twice."""
        prompts = [
            one
            for one in await self._context.service.messages(turn.session, principal=by.principal)
            if isinstance(one.item, Message) and one.item.active and one.item.role == "user"
        ]
        if prompts and prompts[-1].turn == turn.id:
            with suppress(SessionBusy):  # another turn has just begun: the prompt stays visible
                await self._context.service.undo(turn.session, by)


class _TurnFollower:
    """Reads the log of one turn and enqueues what the chat should see."""

    def __init__(
        self,
        context: GatewayContext,
        turn: Turn,
        to: ReplyTarget,
        by: Caller,
        handoff: str,
        state: ChatTurnState | None,
    ) -> None:
        self._context, self._turn, self._to, self._by, self._handoff = context, turn, to, by, handoff
        self._state, self._holds = state or ChatTurnState(), state is not None
        self._prompts = ApprovalPrompts(context, turn, to, by)
        self._streaming = StreamingMessage(context, turn, to, handoff)
        self._outcome = TurnOutcome(turn=turn.id)

    async def run(self) -> TurnOutcome:
        """Follows the turn to its end."""
        log = self._context.service.watch(self._turn.session, after=self._turn.after, principal=self._by.principal)
        async with aclosing(log):
            while entry := await self._read_next(log):
                if entry.turn != self._turn.id:
                    continue
                is_done, drafts = isinstance(entry.item, Done), await self._to_drafts(entry)
                if not is_done:
                    await self._send_held()
                self._state.unsent += drafts
                if not (self._holds and (is_done or self._outcome.has_answer)):
                    await self._send_held()
                if is_done:
                    self._state.question = None
                    await self._prompts.close()
                    break
        return self._outcome

    async def _read_next(self, log: Log) -> Recorded | None:
        """The next entry. An answer is held until the turn is done, which is nearly always at once."""
        if not self._state.unsent:
            return await anext(log, None)
        upcoming = asyncio.ensure_future(anext(log, None))
        try:
            await asyncio.wait((upcoming,), timeout=_HOLD_SECONDS)
            if not upcoming.done():
                await self._send_held()
            return await upcoming
        finally:
            await cancel_tasks([upcoming])

    async def _send_held(self) -> None:
        if self._state.unsent:
            await self._context.store.put_outgoing(self._state.unsent)
            self._state.unsent = []

    async def _to_drafts(self, entry: Recorded) -> list[OutgoingDraft]:
        """The messages that one log entry becomes in the chat."""
        item, outcome, texts, drafts = entry.item, self._outcome, list[str](), list[OutgoingDraft]()
        if isinstance(item, Chunk):
            await self._streaming.append(item.text)
        elif isinstance(item, Message):
            texts = [await self._streaming.complete(text) for text in self._read_answer(item)]
        elif isinstance(item, Progress) and item.stage == "approval":
            drafts = await self._to_prompt(entry.public_id, item)
        elif isinstance(item, Progress) and "steer" in item.detail:
            self._state.steer_results[str(item.detail["steer"])] = item.detail.get("heard") is not False
        elif isinstance(item, Progress) and item.stage == "running" and item.detail.get("status") == "budget":
            texts = [f"⚠ {item.detail.get('line')}"]
        elif isinstance(item, Failed):
            outcome.failed = item
        elif isinstance(item, Done):
            outcome.status = item.status
            if outcome.failed and not self._handoff and not outcome.is_repeatable and not outcome.has_answer:
                texts = [problem_text(outcome.failed.message, outcome.failed.hint)]
        for text in texts:
            drafts += self._context.drafts(self._to, entry.public_id, text, handoff=self._handoff)
        return drafts + self._file_drafts(entry)

    async def _to_prompt(self, key: str, item: Progress) -> list[OutgoingDraft]:
        if item.detail.get("status") == "asked":
            view, drafts = await self._prompts.ask(key, item.detail, handoff=self._handoff)
            self._state.question = OpenQuestion(
                detail=item.detail, view=view, keys=frozenset(one.key for one in drafts)
            )
            return drafts
        self._state.question = None
        await self._prompts.settle(item.detail)
        return []

    def _read_answer(self, message: Message) -> list[str]:
        """The text of a complete assistant message. Updates the outcome."""
        outcome = self._outcome
        if message.role == "tool":
            outcome.has_answer = False
        if message.role != "assistant":
            return []
        calls = tool_calls_of(message)
        outcome.has_acted |= bool(calls)
        text, is_complete = text_without_files(message).strip(), message.finish_reason not in _UNFINISHED
        outcome.has_answer = bool(text) and is_complete and not calls
        return [text] if text and is_complete else []

    def _file_drafts(self, entry: Recorded) -> list[OutgoingDraft]:
        """One message for each file."""
        return [
            self._to.draft(
                f"{entry.public_id}/file/{n}", file_line(file), handoff=self._handoff, reply_to="", file=file
            )
            for n, file in enumerate(_files_of(entry.item))
        ]


def _files_of(item: Yielded) -> tuple[Attachment, ...]:
    """Files in a message of the agent or a tool, or the `attachment` among the facts of a tool's progress."""
    if isinstance(item, Message):
        return attachments_of(item) if item.role in ("assistant", "tool") else ()
    if isinstance(item, Progress) and item.stage == "tool":
        facts = item.detail.get("facts")
        attachment = facts.get("attachment") if isinstance(facts, dict) else None
        if isinstance(attachment, dict) and {"hash", "media_type"} <= attachment.keys():
            return (decode_value(Attachment, attachment),)
    return ()


@asynccontextmanager
async def _show_presence(
    context: GatewayContext, to: ReplyTarget, prompt: InboundPayload
) -> AsyncGenerator[None, None]:
    """Reacts to the prompt of a person, and shows the typing indicator as long as the block runs.

    Both are optional: what a network refuses is not tried again.
    """
    adapter, tasks = context.find_adapter(to), list[asyncio.Task[None]]()
    emoji = str(context.settings["gateway.reaction"]).strip()
    has_reaction = emoji and prompt.id and not prompt.handoff
    if has_reaction and adapter is not None and isinstance(adapter, CanReact):
        tasks.append(asyncio.create_task(_react(adapter, prompt, emoji)))
    if adapter is not None and isinstance(adapter, CanType):
        tasks.append(asyncio.create_task(_show_typing(adapter, to)))
    try:
        yield
    finally:
        await cancel_tasks(tasks)


async def _react(adapter: CanReact, prompt: InboundPayload, emoji: str) -> None:
    with suppress(PlatformFailed, TimeoutError):
        async with asyncio.timeout(_REACTION_TIMEOUT_SECONDS):
            await adapter.react(Sent(place=prompt.place, id=prompt.id), emoji)


async def _show_typing(adapter: CanType, to: ReplyTarget) -> None:
    with suppress(PlatformFailed):
        while True:
            await adapter.typing(to.place)
            await asyncio.sleep(_TYPING_SECONDS)
