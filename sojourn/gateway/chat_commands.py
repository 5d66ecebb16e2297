"""The commands people write in chats, as data: what they are called, what they take, what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from sojourn.core.errors import BadInput
from sojourn.core.sessions import OWNER, Session, clean_title
from sojourn.gateway.bindings import Conversation
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.handoff_requests import HandoffRequests
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload
from sojourn.gateway.watchers import find_watched, start_watch, stop_watch
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.records import Record
from sojourn.ports.service import Caller
from sojourn.ports.store import Listing

_SHOWN = 10
_CHOICE = "gateway_choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who wrote what, where, and what is bound there."""

    letter: InboundPayload
    person: Identity
    by: Caller
    spot: Conversation
    item: Incoming


Run = Callable[[Call, str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. `cli_only` and `gateway_only` say where it works; a quick one may be used while a turn runs."""

    name: str
    about: str
    takes: str = ""
    run: Run | None = None
    quick: bool = True
    cli_only: bool = False
    gateway_only: bool = False


RECORDS = (
    Command(name="help", about="These commands."),
    Command(name="new", about="Begin a new session with your next words."),
    Command(name="sessions", takes="[words]", about="Your newest sessions, or those with these words."),
    Command(name="resume", takes="<session>", about="Go on here with a session, by title or id."),
    Command(name="title", takes="[words]", about="Show or set the title."),
    Command(name="status", about="Which session this is, who drives it, and whether a turn runs."),
    Command(name="stop", about="Stop the running turn."),
    Command(name="model", takes="[name]", about="Show the models, or use one from now on."),
    Command(name="template", takes="[name|none]", about="Begin the next session here with this template."),
    Command(name="handoff", takes="<platform[:chat]|cli|web>", about="Move this session somewhere else.", quick=False),
    Command(name="attach", takes="<session>", about="Watch a session here; /take takes the wheel."),
    Command(name="take", about="Take the wheel of this session from another surface."),
    Command(name="sethome", about="Let hand-offs land in this chat.", gateway_only=True),
    Command(name="whoami", about="Who you are to Sojourn.", gateway_only=True),
    Command(name="export", about="Write the session to a file.", cli_only=True),
    Command(name="quit", about="Leave the terminal.", cli_only=True),
)
BY_NAME = {one.name: one for one in RECORDS}
_ALSO = {"start": "help", "reset": "new", "cancel": "stop"}


def parse(text: str, prefix: str = "/") -> tuple[str, str] | None:
    """Name and the rest of a command; None when it is something said. A doubled prefix begins something said."""
    line = text.strip()
    if not line.startswith(prefix) or line.startswith(prefix * 2):
        return None
    name, _, rest = line[len(prefix) :].partition(" ")
    name = name.partition("@")[0].lower()  # some networks add whom it is for
    if not name or not name.replace("_", "").isalnum():
        return None
    return _ALSO.get(name, name), rest.strip()


def is_quick(name: str) -> bool:
    return name not in BY_NAME or BY_NAME[name].quick


class Commands:
    """What the commands do."""

    def __init__(self, desk: GatewayContext, requests: HandoffRequests) -> None:
        self._desk, self._requests = desk, requests
        self._does: dict[str, Run] = {
            "help": self.help,
            "new": self.new,
            "sessions": self.sessions,
            "resume": self.resume,
            "title": self.title,
            "status": self.status,
            "stop": self.stop,
            "model": self.model,
            "template": self.template,
            "handoff": self.handoff,
            "attach": self.attach,
            "take": self.take,
            "sethome": self.sethome,
            "whoami": self.whoami,
        }

    async def run(self, name: str, rest: str, call: Call) -> str:
        """What it answers; BadInput for what is not known or does not work here."""
        if name not in BY_NAME:
            raise BadInput(f"There is no command /{name}.", hint="/help lists them.")
        if BY_NAME[name].cli_only:
            raise BadInput(f"/{name} works in the terminal only.", hint="/help lists what works here.")
        return await self._does[name](call, rest)

    async def chosen(self, key: str) -> dict[str, str]:
        """The model and the template somebody wants in a place."""
        found = await self._desk.store.get_record(_CHOICE, key)
        return dict(found.value) if found else {}

    async def _choose(self, call: Call, **values: str) -> None:
        value = await self.chosen(call.spot.key) | values
        await self._desk.store.put_record(
            Record(kind=_CHOICE, key=call.spot.key, value=value, principal=call.person.principal)
        )

    async def _current(self, call: Call) -> Session:
        session = call.spot.session or await find_watched(self._desk.store, call.spot.key)
        if session is None:
            raise BadInput("There is no session here yet.", hint="It begins with your first words.")
        return await self._desk.service.get(session, principal=call.person.principal)

    # what they do
    async def help(self, call: Call, rest: str) -> str:
        lines = [f"/{one.name} {one.takes}".rstrip() + f" – {one.about}" for one in RECORDS if not one.cli_only]
        return "\n".join(lines)

    async def new(self, call: Call, rest: str) -> str:
        await stop_watch(self._desk.store, call.spot.key)
        await self._desk.places.leave(call.spot)
        return "A new session begins with your next words."

    async def sessions(self, call: Call, rest: str) -> str:
        listing = Listing(principal=call.person.principal, text=rest, limit=_SHOWN)
        found = await self._desk.service.find(listing)
        lines = [
            f"{'●' if one.id == call.spot.session else '○'} {one.title or one.preview or '(empty)'}  ({one.id})"
            for one in found
        ]
        return "\n".join(lines) or "No sessions yet."

    async def resume(self, call: Call, rest: str) -> str:
        if not rest and call.spot.binding is not None and call.spot.binding.previous is not None:
            rest = call.spot.binding.previous  # what a hand-off displaced
        if not rest:
            raise BadInput("Which session?", hint="/resume and a title or id; /sessions lists them.")
        found = await self._desk.service.resolve(rest, principal=call.person.principal)
        return await self._bring(call, found)

    async def _bring(self, call: Call, found: Session) -> str:
        """The session is bound here and driven from here."""
        if found.driver not in (None, call.by.surface):
            await self._desk.service.take(found.id, call.by)
        await stop_watch(self._desk.store, call.spot.key)
        if found.id != call.spot.session:
            await self._desk.places.bind(call.spot, found.id, call.letter.place, call.person)
        return f"Here is “{found.title or found.id}”, with {found.message_count} messages. Go on."

    async def title(self, call: Call, rest: str) -> str:
        session = await self._current(call)
        if not rest:
            return session.title or "This session has no title yet."
        changed = await self._desk.service.change(session, replace(session, title=clean_title(rest)))
        return f"This session is called “{changed.title}” now."

    async def status(self, call: Call, rest: str) -> str:
        session = await self._current(call)
        turn = await self._desk.service.running(session.id)
        return (
            f"“{session.title or session.id}” ({session.id}), {session.message_count} messages, driven from "
            f"{session.driver or 'nowhere'}; {'a turn runs' if turn else 'no turn runs'}."
        )

    async def stop(self, call: Call, rest: str) -> str:
        session = await self._current(call)
        return "Stopping." if await self._desk.service.stop(session.id, call.by) else "Nothing is running."

    async def model(self, call: Call, rest: str) -> str:
        if rest:
            await self._choose(call, model="" if rest == "default" else rest)
            return f"From now on here: {rest}."
        known = [one for one in await self._desk.service.runtimes() if one.ok and one.models]
        lines = [f"{one.name}: {', '.join(one.models[:20])}" for one in known]
        return "\n".join([*lines, "/model NAME uses one, /model default goes back."])

    async def template(self, call: Call, rest: str) -> str:
        if not rest:
            raise BadInput("Which template?", hint="/template and its name, none, or auto.")
        await self._choose(call, template="" if rest == "auto" else rest)
        return f"Template here: {rest}."

    async def handoff(self, call: Call, rest: str) -> str:
        session = await self._current(call)
        if call.spot.session is None:
            raise BadInput("You only watch this session.", hint="/take takes the wheel first.")
        platform, _, target = rest.replace(" ", ":", 1).partition(":")
        if target and not call.person.is_owner:
            raise BadInput("You can only hand a session to your own home channel.", hint=f"/handoff {platform}")
        asked = await self._requests.ask(
            session.id, platform, target=target, surface=call.by.surface, by=call.by.name, principal=session.principal
        )
        if platform in ("cli", "web"):
            done = await self._requests.until_over(asked)
            return self._requests.told(done, session)
        return f"On its way to {rest}. Come back with /resume {session.title or session.id}."

    async def attach(self, call: Call, rest: str) -> str:
        if not rest:
            raise BadInput("Watch which session?", hint="/attach and a title or id; /sessions lists them.")
        found = await self._desk.service.resolve(rest, principal=call.person.principal)
        if found.id == call.spot.session and found.driver in (None, call.by.surface):
            raise BadInput("That session is driven from here.", hint="Just go on.")
        to = self._desk.address(call.item, call.letter.place)
        await start_watch(self._desk.store, call.spot.key, found.id, to, call.person.principal, found.last_seq)
        return f"You watch “{found.title or found.id}”, driven from {found.driver or 'nowhere'}. /take takes the wheel."

    async def take(self, call: Call, rest: str) -> str:
        session = await self._current(call)
        await self._bring(call, session)
        return f"You have the wheel of “{session.title or session.id}”."

    async def sethome(self, call: Call, rest: str) -> str:
        await self._desk.homes.set(call.letter.place, call.person.principal, call.letter.sender)
        return "Hand-offs to this network land here from now on."

    async def whoami(self, call: Call, rest: str) -> str:
        sender, kind = call.letter.sender, "the owner" if call.person.principal == OWNER else "a guest"
        return f"You are {kind} ({call.person.principal}); here you are {sender.name or sender.id} ({sender.id})."
