"""What becomes of a message: words for a session, a command, the answer to a question, or a stranger at the door."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal, Protocol

from sojourn.core.attachments import Attachment
from sojourn.core.errors import (
    BeingHandedOver,
    CannotSteer,
    Conflict,
    NotAllowed,
    NotDriving,
    NotFound,
    PlatformFailed,
    SojournError,
)
from sojourn.core.messages import Json
from sojourn.core.sessions import Session, SessionId, TurnId
from sojourn.gateway.approval_prompts import handle_button
from sojourn.gateway.chat_commands import Call, Commands, is_quick
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload, ReplyTarget, decode_inbound
from sojourn.gateway.render import error_text, parse_choice
from sojourn.gateway.turn_runner import TurnRunner
from sojourn.gateway.waiting import NotYet
from sojourn.gateway.watchers import find_watched
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.service import TurnRequest
from sojourn.ports.tool import Reply
from sojourn.service.chat_commands import parse_command

logger = logging.getLogger(__name__)


Aside = Literal["done", "waits", "steered"]  # steered: done if the running turn hears it


class ConversationState(Protocol):
    """A place that is being worked on, as much of it as is needed here."""

    session: SessionId | None
    question: Mapping[str, Json] | None
    heard: dict[str, bool]


class HandoffArrivals(Protocol):
    """Who receives sessions that are handed over to a place."""

    async def arrive(self, item: Incoming, letter: InboundPayload) -> None: ...


class MessageDispatcher:
    """Decides, and leaves the work to others."""

    def __init__(self, desk: GatewayContext, answering: TurnRunner, arrivals: HandoffArrivals, does: Commands) -> None:
        self._desk, self._answering, self._arrivals, self._does = desk, answering, arrivals, does

    async def handle(self, item: Incoming, at: ConversationState) -> TurnId | None:
        """What is to be done, to its end. Gives the turn that was run for these words."""
        letter = decode_inbound(item)
        if letter.handoff:
            await self._arrivals.arrive(item, letter)
            return None
        line = self._desk.lines[(item.platform, item.account)]
        person = await self._desk.people.known(line.adapter.info, letter.sender)
        if person is None:
            await self._stranger(item, letter)
            return None
        call = await self._call(item, letter, person)
        if letter.pressed:
            await handle_button(self._desk, item, letter, person, call.by)
            return None
        is_ours = letter.mentioned or (letter.place.kind == "thread" and call.spot.session is not None)
        if not is_ours or not (letter.text.strip() or letter.files):
            return None
        if not line.adapter.info.system and (command := parse_command(letter.text, line.adapter.info.prefix)):
            await self._command(item, call, *command)
            return None
        return await self._words(item, call, at)

    async def _call(self, item: Incoming, letter: InboundPayload, person: Identity) -> Call:
        by = self._desk.speaker(item.platform, person, letter.sender)
        spot = await self._desk.places.spot(letter, person)
        return Call(letter=letter, person=person, by=by, spot=spot, item=item)

    async def _stranger(self, item: Incoming, letter: InboundPayload) -> None:
        """A code at most, in private, and never an answer. It is sent past the outbox, which would keep it."""
        line = self._desk.lines[(item.platform, item.account)]
        if letter.place.kind != "dm" or item.attempts > 1:
            return
        code = await self._desk.people.code_for(item.platform, letter.sender)
        if code is not None:
            with suppress(PlatformFailed):
                await line.adapter.send(letter.place, STRANGER.format(code=code), plain=True)

    async def _command(self, item: Incoming, call: Call, name: str, rest: str) -> None:
        try:
            reply = await self._does.run(name, rest, call)
        except SojournError as error:
            if isinstance(error, Conflict) and error.code == "lease_lost":
                raise
            reply = error_text(error)
        if reply:
            await self._desk.tell(self._address(item, call), f"in:{item.id}:reply", reply)

    async def _words(self, item: Incoming, call: Call, at: ConversationState) -> TurnId | None:
        """A turn in the session of this place, which is opened now if there is none."""
        letter, person, by = call.letter, call.person, call.by
        to = self._address(item, call)
        if await find_watched(self._desk.store, call.spot.key):
            await self._desk.tell(to, f"in:{item.id}:reply", WATCHING)
            return None
        session = await self._desk.places.session(call.spot, person, by, chosen=item.session)
        if session.id != item.session:  # from here on an heir goes on in this session, whatever is bound here by then
            item = await self._desk.store.update_incoming(item, seconds=self._desk.lease, session=session.id)
        if session.id != call.spot.session and await self._desk.places.is_free(call.spot, session):
            with suppress(Conflict):  # bound meanwhile: this very session after a crash, or another by a hand-off
                await self._desk.places.bind(call.spot, session.id, letter.place, person)
        at.session = session.id
        said = await self._said(item, call, session.id)

        def asks(question: dict[str, Json] | None) -> None:
            at.question = question

        try:
            outcome = await self._answering.answer(
                item, session, said, by, replace(to, session=session.id), asks=asks, reached=at.heard.__setitem__
            )
            return outcome.turn
        except NotDriving as error:
            await self._desk.tell(to, f"in:{item.id}:reply", _elsewhere(session, error))
            return None
        except BeingHandedOver as error:
            raise NotYet(error) from error

    async def _said(self, item: Incoming, call: Call, session: SessionId) -> TurnRequest:
        attachments = list[Attachment]()
        if call.letter.files:
            for file in await self._desk.store.incoming_files(item):
                attachments.append(
                    await self._desk.service.attach(session, file.data, media_type=file.media_type, name=file.name)
                )
        chosen = await self._does.choices(call.spot.key)
        return TurnRequest(
            text=call.letter.text,
            attachments=tuple(attachments),
            model=chosen.get("model", ""),
            runtime=chosen.get("runtime", ""),
            template=chosen.get("template", ""),
        )

    def _address(self, item: Incoming, call: Call) -> ReplyTarget:
        reply_to = call.letter.id if call.letter.place.kind in ("group", "channel") else ""
        return self._desk.address(item, call.letter.place, reply_to=reply_to)

    # while a turn runs
    async def aside(self, item: Incoming, at: ConversationState) -> Aside:
        """Handles what cannot wait behind a running turn."""
        letter = decode_inbound(item)
        line = self._desk.lines[(item.platform, item.account)]
        person = await self._desk.people.known(line.adapter.info, letter.sender)
        if letter.handoff or person is None:
            return "waits"
        call = await self._call(item, letter, person)
        if letter.pressed:
            await handle_button(self._desk, item, letter, person, call.by)
            return "done"
        if at.question is not None and at.session is not None and await self._answers(at, call):
            return "done"
        if command := parse_command(letter.text, line.adapter.info.prefix):
            if not is_quick(command[0]):
                return "waits"
            await self._command(item, call, *command)
            return "done"
        return await self._interjects(at, call)

    async def _answers(self, at: ConversationState, call: Call) -> bool:
        """Whether these words answer what the turn asks. Only the owner's do."""
        assert at.question is not None
        assert at.session is not None
        chosen = parse_choice(call.letter.text, tuple(map(str, at.question.get("choices", ()))))
        if chosen is None or not call.person.is_owner:
            return False
        with suppress(NotFound, NotAllowed):  # answered elsewhere meanwhile
            reply = Reply(choice=chosen, by=call.by.name or call.by.surface)
            await self._desk.service.answer(at.session, str(at.question["question"]), reply, call.by)
        return True

    async def _interjects(self, at: ConversationState, call: Call) -> Aside:
        """Words that come while a turn runs, as the settings want it."""
        way = str(self._desk.settings["gateway.when_busy"])
        if at.session is None or call.spot.session != at.session:
            return "waits"
        if way == "interrupt":
            await self._desk.service.stop(at.session, call.by)
        elif way == "steer" and call.letter.text.strip() and not call.letter.files:
            with suppress(NotFound, NotDriving, CannotSteer):  # it has ended or does not listen: then these are next
                await self._desk.service.steer(at.session, call.letter.text, call.by)
                return "steered"
        return "waits"


STRANGER = (
    "I do not know you yet. If you know who runs this, give them this code within an hour: {code}\n"
    "(They allow you with: sojourn gateway pair {code})"
)
WATCHING = "You only watch this session. /take takes the wheel, /new begins another one."


def _elsewhere(session: Session, error: NotDriving) -> str:
    return (
        f"“{session.title or session.id}” is driven from {error.driver} now. "
        "/take brings it back here, /new begins another one."
    )
