"""Chat commands in chats: runs `sojourn.chat_commands`, applies their changes to the conversation, replies in text."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from sojourn.chat_commands import COMMANDS, CommandCall, CommandResult, find_command, run_command
from sojourn.core.handoff import LOCAL_SURFACES, Handoff
from sojourn.core.sessions import Session
from sojourn.gateway.bindings import Conversation
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload
from sojourn.gateway.watchers import find_watched, start_watch, stop_watch
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.platform import PlatformInfo
from sojourn.ports.service import Caller
from sojourn.ports.store import Record
from sojourn.text.handoff_text import summary_text

_CHOICE = "gateway_choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundCall:
    """A message with its network, its sender's identity and its conversation."""

    item: Incoming
    payload: InboundPayload
    info: PlatformInfo
    identity: Identity
    by: Caller
    conversation: Conversation


def is_quick(name: str) -> bool:
    """Whether a command may run during a turn; an unknown one gets its error at once."""
    return name not in COMMANDS or COMMANDS[name].is_quick


class CommandRunner:
    """Runs commands for the conversations of a gateway."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context

    async def run(self, name: str, arguments: str, call: InboundCall) -> str:
        """The reply. BadInput for an unknown command or one that does not work in chats."""
        command, sender = find_command(name), call.payload.sender
        result = await run_command(command, await self._to_command_call(call, arguments))
        await self._apply(call, result)
        if command.name == "sethome":
            await self._context.homes.set(call.payload.place, call.identity.principal, sender)
        if command.name == "whoami":
            return f"{_render(result)} Your id on {call.item.platform} is {sender.id}."
        if result.handoff is not None and result.session is not None and result.handoff.platform in LOCAL_SURFACES:
            return await self._wait_for(result.handoff, result.session)
        return _render(result)

    async def _to_command_call(self, call: InboundCall, arguments: str) -> CommandCall:
        conversation, binding = call.conversation, call.conversation.binding
        watched = None if conversation.session else await find_watched(self._context.store, conversation.key)
        return CommandCall(
            service=self._context.service,
            by=call.by,
            surface="chat",
            arguments=arguments,
            session=conversation.session or watched,
            previous=binding.previous if binding else None,
            is_watching=watched is not None,
            is_private=call.payload.place.kind == "dm",
            model=(await self.choices(conversation.key)).get("model", ""),
        )

    async def choices(self, key: str) -> dict[str, str]:
        """The model, runtime and template chosen in a conversation."""
        record = await self._context.store.get_record(_CHOICE, key)
        return dict(record.value) if record else {}

    async def _apply(self, call: InboundCall, result: CommandResult) -> None:
        store, conversation, session = self._context.store, call.conversation, result.session
        key, principal = conversation.key, call.identity.principal
        if result.choices:
            value = await self.choices(key) | dict(result.choices)
            await store.put_record(Record(kind=_CHOICE, key=key, value=value, principal=principal))
        if result.change == "new":
            await stop_watch(store, key)
            await self._context.bindings.leave(conversation)
        elif result.change == "drive" and session is not None:
            await stop_watch(store, key)
            if session.id != conversation.session:
                await self._context.bindings.bind(conversation, session.id, call.payload.place, call.identity)
        elif result.change == "watch" and session is not None:
            to = self._context.reply_target(call.item, call.payload.place)
            await start_watch(store, key, session.id, to, principal, session.last_seq)

    async def _wait_for(self, handoff: Handoff, session: Session) -> str:
        async with aclosing(self._context.service.follow_handoff(handoff)) as steps:
            return summary_text([step async for step in steps][-1], session)


def _render(result: CommandResult) -> str:
    """A result as plain text, one row per line."""
    return "\n".join([*map(_render_row, result.rows), *result.lines])


def _render_row(cells: tuple[str, ...]) -> str:
    sign, *rest = cells
    return f"{sign} {'  '.join(rest)}" if len(sign) == 1 else "  ".join(cells)
