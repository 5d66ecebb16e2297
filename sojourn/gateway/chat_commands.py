"""Chat commands in chats: runs `service.chat_commands`, applies what they change here, and answers as text."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from sojourn.core.handoff import Handoff
from sojourn.core.sessions import Session
from sojourn.gateway.bindings import Conversation
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload
from sojourn.gateway.watchers import find_watched, start_watch, stop_watch
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.service import Caller
from sojourn.ports.store import Record
from sojourn.service.chat_commands import COMMANDS, CommandCall, CommandResult, find_command, run_command
from sojourn.service.handoffs import LOCAL_SURFACES, summary_text

_CHOICE = "gateway_choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who wrote what, where, and what is bound there."""

    letter: InboundPayload
    person: Identity
    by: Caller
    spot: Conversation
    item: Incoming


def is_quick(name: str) -> bool:
    """Whether a command may run while a turn runs; an unknown one is answered at once."""
    return name not in COMMANDS or COMMANDS[name].is_quick


class Commands:
    """Runs commands for the conversations of a gateway."""

    def __init__(self, desk: GatewayContext) -> None:
        self._desk = desk

    async def run(self, name: str, arguments: str, call: Call) -> str:
        """The answer. BadInput for an unknown command or one that does not work in chats."""
        command, sender = find_command(name), call.letter.sender
        result = await run_command(command, await self._to_command_call(call, arguments))
        await self._apply(call, result)
        if command.name == "sethome":
            await self._desk.homes.set(call.letter.place, call.person.principal, sender)
        if command.name == "whoami":
            return f"{render_text(result)} Your id on {call.item.platform} is {sender.id}."
        if result.handoff is not None and result.session is not None and result.handoff.platform in LOCAL_SURFACES:
            return await self._wait_for(result.handoff, result.session)
        return render_text(result)

    async def _to_command_call(self, call: Call, arguments: str) -> CommandCall:
        spot, binding = call.spot, call.spot.binding
        seen = None if spot.session else await find_watched(self._desk.store, spot.key)
        return CommandCall(
            service=self._desk.service,
            by=call.by,
            surface="chat",
            arguments=arguments,
            session=spot.session or seen,
            previous=binding.previous if binding else None,
            is_watching=seen is not None,
            is_private=call.letter.place.kind == "dm",
            model=(await self.choices(spot.key)).get("model", ""),
        )

    async def choices(self, key: str) -> dict[str, str]:
        """The model, runtime and template chosen in a conversation."""
        found = await self._desk.store.get_record(_CHOICE, key)
        return dict(found.value) if found else {}

    async def _apply(self, call: Call, result: CommandResult) -> None:
        store, spot, found = self._desk.store, call.spot, result.session
        if result.choices:
            value = await self.choices(spot.key) | dict(result.choices)
            await store.put_record(Record(kind=_CHOICE, key=spot.key, value=value, principal=call.person.principal))
        if result.change == "new":
            await stop_watch(store, spot.key)
            await self._desk.places.leave(spot)
        elif result.change == "drive" and found is not None:
            await stop_watch(store, spot.key)
            if found.id != spot.session:
                await self._desk.places.bind(spot, found.id, call.letter.place, call.person)
        elif result.change == "watch" and found is not None:
            to = self._desk.address(call.item, call.letter.place)
            await start_watch(store, spot.key, found.id, to, call.person.principal, found.last_seq)

    async def _wait_for(self, handoff: Handoff, session: Session) -> str:
        async with aclosing(self._desk.service.follow_handoff(handoff)) as steps:
            return summary_text([step async for step in steps][-1], session)


def render_text(result: CommandResult) -> str:
    """A result as plain text, one row per line."""
    return "\n".join([*map(_render_row, result.rows), *result.lines])


def _render_row(cells: tuple[str, ...]) -> str:
    sign, *rest = cells
    return f"{sign} {'  '.join(rest)}" if len(sign) == 1 else "  ".join(cells)
