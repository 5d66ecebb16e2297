"""The slash commands of a chat, as data: what they are called, what they take, what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn.core.errors import BadInput

if TYPE_CHECKING:
    from sojourn.cli.chat.talk import Talk

Run = Callable[["Talk", str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slash:
    """One command. `takes` is shown in the help; `cli_only` and `gateway_only` say where it works."""

    name: str
    about: str
    run: Run
    takes: str = ""
    cli_only: bool = False
    gateway_only: bool = False


def parse(line: str) -> tuple[str, str] | None:
    """Name and the rest of `/name rest`; None when it is something said. `//` begins something said with a slash."""
    if not line.startswith("/") or line.startswith("//"):
        return None
    name, _, rest = line[1:].partition(" ")
    return name.lower(), rest.strip()


def find(commands: dict[str, Slash], name: str) -> Slash:
    """The command of that name, or the only one that begins so."""
    if name in commands:
        return commands[name]
    begins = [one for one in commands if one.startswith(name)] if name else []
    if len(begins) == 1:
        return commands[begins[0]]
    meant = f" Did you mean {', '.join('/' + one for one in begins)}?" if begins else ""
    raise BadInput(f"There is no command /{name}.{meant}", hint="/help lists them. // begins a message with a slash.")
