"""Chat command table: what a command is, and how one is found and run. `chat_commands.py` has the commands."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, Protocol, runtime_checkable

from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.handoff import Handoff
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.ports.service import Caller, RuntimeInfo, Service

CommandSurface = Literal["terminal", "chat", "browser"]
_ANYWHERE: tuple[CommandSurface, ...] = ("terminal", "chat", "browser")
_ALIASES = {"start": "help", "reset": "new", "clear": "new", "cancel": "stop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A command's arguments and the conversation in which a person wrote it."""

    service: Service
    by: Caller
    surface: CommandSurface
    arguments: str = ""
    session: SessionId | None = None
    previous: SessionId | None = None  # the session that a hand-off displaced here
    is_watching: bool = False  # the conversation shows the session and does not drive it
    is_private: bool = True  # nobody else reads the answer
    model: str = ""  # the model chosen for this conversation
    permissions: str = "ask"  # the permission mode that its next session begins with


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a command answers, and what the surface has to change.

    `change` says what becomes of the conversation: it leaves its session (`new`), goes on in `session` (`drive`), or
    shows it (`watch`). `choices` are the model, runtime and template of its next requests; empty means the default.
    """

    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    change: Literal["", "new", "drive", "watch"] = ""
    session: Session | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    handoff: Handoff | None = None  # requested just now
    file: str = ""  # the text that goes into the file `file_name`
    file_name: str = ""
    rerun: bool = False  # run the last request again, without a template
    retry: bool = False  # take the last request back and say it again
    copy: str = ""  # the text that goes to the clipboard
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutput:
    """What the command of a plugin answers; `choices` are kept by the conversation."""

    lines: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class RunsPluginCommands(Protocol):
    """A service that runs the chat commands of plugins, where the agent works."""

    async def run_plugin_command(self, name: str, arguments: str, session: SessionId, by: Caller) -> CommandOutput:
        """NotFound if no plugin brings it, and for a session that is not the caller's."""


async def run_plugin_command(
    service: Service, name: str, arguments: str, session: SessionId, by: Caller
) -> CommandOutput:
    """Runs the command of a plugin, if the service can. NotFound."""
    if not isinstance(service, RunsPluginCommands):
        raise NotFound(f"/{name} does not work here.", hint="/help lists what works here.")
    return await service.run_plugin_command(name, arguments, session, by)


Handler = Callable[[CommandCall], Awaitable[CommandResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCommand:
    """One command. `is_quick`: it may run during a turn. `opens_session`: the surface opens one if there is none."""

    name: str
    help: str
    handler: Handler
    arguments: str = ""
    surfaces: tuple[CommandSurface, ...] = _ANYWHERE
    owner_only: bool = False
    private_only: bool = False
    is_quick: bool = True
    opens_session: bool = False


COMMANDS: dict[str, ChatCommand] = {}


def add_command(help: str, arguments: str = "", **options: Any) -> Callable[[Handler], Handler]:
    """Adds the handler `_name` to the table as the command `/name`."""

    def add(handler: Handler) -> Handler:
        name = handler.__name__.removeprefix("_")
        COMMANDS[name] = ChatCommand(name=name, help=help, arguments=arguments, handler=handler, **options)
        return handler

    return add


def parse_command(text: str, prefix: str = "/") -> tuple[str, str] | None:
    """Name and arguments of `/name arguments`; None for any other text. A doubled prefix escapes a message."""
    line = text.strip()
    if not line.startswith(prefix) or line.startswith(prefix * 2):
        return None
    name, _, arguments = line[len(prefix) :].partition(" ")
    name = name.partition("@")[0].lower()  # some networks append the name of the bot
    if not name.replace("_", "").isalnum():
        return None
    return _ALIASES.get(name, name), arguments.strip()


def list_rows(rows: Iterable[tuple[str, ...]], *, if_empty: str) -> CommandResult:
    """A table, or a line if it has no row."""
    shown = tuple(rows)
    return CommandResult(rows=shown) if shown else CommandResult(lines=(if_empty,))


def split_arguments(arguments: str) -> list[str]:
    """The words of a command, as a shell would read them. BadInput."""
    try:
        return shlex.split(arguments)
    except ValueError as error:
        raise BadInput(f"{arguments} cannot be read: {error}.", hint="Close every quote.") from error


def find_command(name: str) -> ChatCommand:
    """The command of that name, or the only one that begins with it. BadInput."""
    if name in COMMANDS:
        return COMMANDS[name]
    matches = [one for one in COMMANDS if one.startswith(name)]
    if len(matches) == 1:
        return COMMANDS[matches[0]]
    meant = f" Did you mean {', '.join('/' + one for one in matches)}?" if matches else ""
    raise BadInput(f"There is no command /{name}.{meant}", hint="/help lists them. // begins a message with a slash.")


def list_commands(surface: CommandSurface, *, is_owner: bool = True) -> list[ChatCommand]:
    return [one for one in COMMANDS.values() if surface in one.surfaces and (is_owner or not one.owner_only)]


async def run_command(command: ChatCommand, call: CommandCall) -> CommandResult:
    """Checks who may use the command and where, then runs it. BadInput, NotAllowed."""
    if call.surface not in command.surfaces:
        where = {"terminal": "the terminal", "chat": "chats"}[command.surfaces[0]]
        raise BadInput(f"/{command.name} works in {where} only.", hint="/help lists what works here.")
    if command.owner_only and call.by.principal != OWNER:
        raise NotAllowed(f"Only the owner may use /{command.name}.", hint="/help lists what you may use.")
    if command.private_only and not call.is_private:
        raise NotAllowed(f"/{command.name} answers in private only.", hint="Write it in a direct message.")
    return await command.handler(call)


async def require_template(service: Service, name: str) -> None:
    """NotFound for the name of a template that is not there."""
    if name in ("", "none", "auto"):
        return
    names = [one.name for one in await service.list_templates()]
    if name not in names:
        near = get_close_matches(name, names, n=1)
        meant = f'Did you mean "{near[0]}"? ' if near else ""
        raise NotFound(f'There is no template "{name}".', hint=f"{meant}`sojourn templates list` shows what there is.")


def describe_runtimes(found: Sequence[RuntimeInfo]) -> Iterator[tuple[str, str, str]]:
    """Rows of those that are offered: whether one is ready, its name, and what it says or needs."""
    for one in found:
        if one.offered:
            name = f"{one.name} (default)" if one.default else one.name
            yield ("✓", name, one.detail) if one.ok else ("–", name, f"{one.detail} {one.hint}".strip())
