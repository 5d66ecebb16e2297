"""The dispatcher: decides whether a message is a prompt, a command, a button press, or comes from a stranger."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from sojourn.chat_commands import parse_command
from sojourn.core.errors import (
    BeingHandedOver,
    CannotSteer,
    Conflict,
    LeaseLost,
    NotAllowed,
    NotDriving,
    NotFound,
    PlatformFailed,
    SojournError,
)
from sojourn.core.provenance import Provenance
from sojourn.core.sessions import OWNER, SessionId, TurnId
from sojourn.gateway.agent_prompts import AgentPrompts
from sojourn.gateway.approval_prompts import handle_button
from sojourn.gateway.chat_commands import CommandRunner, InboundCall, is_quick
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.handoff_worker import HandoffWorker
from sojourn.gateway.payloads import InboundPayload, ReplyTarget, decode_inbound
from sojourn.gateway.render import answers_text, parse_choice, problem_text
from sojourn.gateway.row_worker import RetryLater
from sojourn.gateway.turn_runner import ChatTurnState, OpenQuestion, TurnRunner
from sojourn.gateway.watchers import find_watched
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.service import TurnRequest
from sojourn.ports.tool import Reply

_MAX_ROWS = 10_000  # of a session's outbox in which the message of a question is looked for
DuringTurn = Literal["done", "waits", "steered"]  # steered: done if the running turn accepts it

STRANGER = (
    "I don't know you yet. If you know who runs this bot, give them this code within an hour: {code}\n"
    "(They let you in with: sojourn gateway pair {code})"
)
PAIRED = "You are paired: this is your private chat with Sojourn, and hand-offs arrive here. Just write."
WATCHING = "You are only watching this session. /take takes it over, /new starts another one."


class ActiveConversation(ChatTurnState):
    """A conversation being worked on: the current message, its turn, and messages that were claimed out of turn."""

    def __init__(self, item: Incoming) -> None:
        super().__init__()
        self.item: Incoming | None = item
        self.queued: list[Incoming] = []
        self.steered: list[Incoming] = []  # passed to the running turn, which may or may not accept them
        self.wakeup = asyncio.Event()  # a message came in that may not wait, or the turn is over
        self.is_turn_over = False

    @property
    def items(self) -> list[Incoming]:
        return [*([self.item] if self.item else []), *self.queued, *self.steered]

    def has(self, item: Incoming) -> bool:
        return any(one.id == item.id for one in self.items)


class MessageDispatcher:
    """Routes each message of the inbox to the turn runner, the commands, the approval prompts or the hand-offs."""

    def __init__(
        self, context: GatewayContext, turn_runner: TurnRunner, handoffs: HandoffWorker, agent_prompts: AgentPrompts
    ) -> None:
        self._context, self._turn_runner, self._handoffs = context, turn_runner, handoffs
        self._agent_prompts = agent_prompts
        self._commands = CommandRunner(context)

    async def handle(self, item: Incoming, state: ActiveConversation) -> TurnId | None:
        """Handles a message completely and gives the turn that was run for it, if any. RetryLater."""
        payload = decode_inbound(item)
        if payload.handoff:
            await self._handoffs.on_announcement(item, payload)
            return None
        if await self._accept_invitation(item, payload):
            return None
        call = await self._build_call(item, payload)
        if call is None:
            await self._offer_pairing(item, payload)
            return None
        if payload.pressed:
            await handle_button(self._context, call)
            return None
        if not self._is_addressed(call) or not (payload.text.strip() or payload.files):
            return None
        if await self._answer_agent(call):
            return None
        if not call.info.system and (command := parse_command(payload.text, call.info.prefix)):
            await self._run_command(call, *command)
            return None
        return await self._run_turn(call, state)

    @staticmethod
    def _is_addressed(call: InboundCall) -> bool:
        in_thread = call.payload.place.kind == "thread" and call.conversation.session is not None
        return call.payload.mentioned or in_thread

    async def _build_call(self, item: Incoming, payload: InboundPayload) -> InboundCall | None:
        """The message with its sender's identity and its conversation; None from a stranger."""
        info = self._context.connections[(item.platform, item.account)].adapter.info
        identity = await self._context.identities.identify(info, payload.sender)
        if identity is None:
            return None
        by = self._context.caller(item.platform, identity, payload.sender)
        conversation = await self._context.bindings.find(payload, identity)
        return InboundCall(item=item, payload=payload, info=info, identity=identity, by=by, conversation=conversation)

    async def _accept_invitation(self, item: Incoming, payload: InboundPayload) -> bool:
        """Pairs somebody who sends the owner's code, in private only; their chat becomes the home channel."""
        info = self._context.connections[(item.platform, item.account)].adapter.info
        if payload.place.kind != "dm" or info.system:
            return False
        context = self._context
        if not await context.invitations.accept(item.platform, payload.sender, payload.text, context.identities):
            return False
        await context.homes.set(payload.place, OWNER, payload.sender)
        await context.enqueue_text(context.reply_target(item, payload.place), f"paired/{item.id}", PAIRED)
        return True

    async def _offer_pairing(self, item: Incoming, payload: InboundPayload) -> None:
        """Sends a stranger a pairing code, in private only. It bypasses the outbox, which would store the code."""
        if payload.place.kind != "dm" or item.attempts > 1:
            return
        code = await self._context.identities.issue_code(item.platform, payload.sender)
        if code is not None:
            adapter = self._context.connections[(item.platform, item.account)].adapter
            with suppress(PlatformFailed):
                await adapter.send(payload.place, STRANGER.format(code=code), plain=True)

    async def _run_command(self, call: InboundCall, name: str, arguments: str) -> None:
        try:
            reply = await self._commands.run(name, arguments, call)
        except LeaseLost:
            raise
        except SojournError as error:
            reply = problem_text(str(error), error.hint)
        if reply:
            await self._reply(call, reply)

    async def _reply(self, call: InboundCall, text: str) -> None:
        await self._context.enqueue_text(self._reply_target(call), f"in:{call.item.id}:reply", text)

    async def _run_turn(self, call: InboundCall, state: ActiveConversation) -> TurnId | None:
        """Runs a turn in the session of the conversation, and opens that session if there is none."""
        context, item, conversation = self._context, call.item, call.conversation
        if await find_watched(context.store, conversation.key):
            await self._reply(call, WATCHING)
            return None
        session = await context.bindings.open_session(conversation, call.identity, call.by, assigned=item.session)
        if session.id != item.session:  # after a crash, the next owner of the row goes on in this session
            item = await context.store.update_incoming(item, seconds=context.lease_seconds, session=session.id)
        if session.id != conversation.session and await context.bindings.is_free(conversation, session):
            with suppress(Conflict):  # bound in the meantime: to this session before a crash, or by a hand-off
                await context.bindings.bind(conversation, session.id, call.payload.place, call.identity)
        state.session = session.id
        request = await self._build_request(call, session.id)
        to = replace(self._reply_target(call), session=session.id)
        try:
            return (await self._turn_runner.answer(item, session, request, call.by, to, state=state)).turn
        except NotDriving as error:
            elsewhere = f"“{session.title or session.id}” is driven from {error.driver} now."
            await self._reply(call, f"{elsewhere} /take brings it back here, /new starts another one.")
            return None
        except BeingHandedOver as error:
            raise RetryLater(error) from error

    async def _build_request(self, call: InboundCall, session: SessionId) -> TurnRequest:
        files = await self._context.store.incoming_files(call.item) if call.payload.files else ()
        attachments = [
            await self._context.service.attach(session, file.data, media_type=file.media_type, name=file.name)
            for file in files
        ]
        choices = await self._commands.choices(call.conversation.key)
        return TurnRequest(
            text=call.payload.text,
            attachments=tuple(attachments),
            model=choices.get("model", "") if call.by.principal == OWNER else "",  # the owner pays
            runtime=choices.get("runtime", ""),
            template=choices.get("template", ""),
            attended=not call.info.system,
            provenance=Provenance(foreign=True) if call.info.system else None,
        )

    def _reply_target(self, call: InboundCall) -> ReplyTarget:
        reply_to = call.payload.id if call.payload.place.kind in ("group", "channel") else ""
        return self._context.reply_target(call.item, call.payload.place, reply_to=reply_to)

    async def handle_during_turn(self, item: Incoming, state: ActiveConversation) -> DuringTurn:
        """Handles a message that must not wait for the running turn of its conversation."""
        payload = decode_inbound(item)
        call = None if payload.handoff else await self._build_call(item, payload)
        if call is None:
            return "waits"
        if payload.pressed:
            await handle_button(self._context, call)
            return "done"
        if await self._answer_question(call, state) or await self._answer_agent(call):
            return "done"
        if not self._is_addressed(call):
            return "waits"
        if not call.info.system and (command := parse_command(payload.text, call.info.prefix)):
            if not is_quick(command[0]):
                return "waits"
            await self._run_command(call, *command)
            return "done"
        return await self._apply_busy_policy(call, state)

    async def _answer_question(self, call: InboundCall, state: ActiveConversation) -> bool:
        """Answers the question of the running turn. False if the text is no answer, or not the owner's."""
        question, session = state.question, state.session
        if question is None or session is None or call.info.system or not call.identity.is_owner:
            return False
        meant = parse_choice(call.payload.text, str(question.detail.get("tool", "")))
        if meant is None or not await self._is_meant_for(question, call, session):
            return False
        choice, covers = meant
        if choice not in question.view.choices:
            offered = answers_text(question.view.choices, for_owner=True)
            await self._reply(
                call, " ".join(filter(None, [f"“{choice}” is not offered.", question.view.limit, offered]))
            )
            return True
        with suppress(NotFound, NotAllowed):  # answered elsewhere in the meantime
            reply = Reply(choice=choice, by=call.by.name or call.by.surface, covers=covers)
            await self._context.service.answer(session, str(question.detail["question"]), reply, call.by)
        return True

    async def _answer_agent(self, call: InboundCall) -> bool:
        """Answers the question of an agent that others started. False if the text is no answer to one."""
        reply = await self._agent_prompts.answer(call)
        if reply:
            await self._reply(call, reply)
        return reply is not None

    async def _is_meant_for(self, question: OpenQuestion, call: InboundCall, session: SessionId) -> bool:
        """Whether words answer a question: in private always; elsewhere with our name, or as a reply to it."""
        payload = call.payload
        if payload.place.kind == "dm" or (payload.mentioned if payload.named is None else payload.named):
            return True
        if not payload.reply_to:
            return False
        rows = await self._context.store.outgoing(session=session, states=("sent", "delivered"), limit=_MAX_ROWS)
        return any(row.key in question.keys and row.message_id == payload.reply_to for row in rows)

    async def _apply_busy_policy(self, call: InboundCall, state: ActiveConversation) -> DuringTurn:
        """Queues, interrupts or steers, as `gateway.when_busy` says."""
        policy = str(self._context.settings["gateway.when_busy"])
        if state.session is None or call.conversation.session != state.session:
            return "waits"
        if policy == "interrupt":
            await self._context.service.stop(state.session, call.by)
        elif policy == "steer" and not call.info.system and call.payload.text.strip() and not call.payload.files:
            with suppress(NotFound, NotDriving, CannotSteer):  # the turn ended or takes no input: this message is next
                await self._context.service.steer(state.session, call.payload.text, call.by)
                return "steered"
        return "waits"
