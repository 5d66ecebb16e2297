"""Given: what one run of the command line has to work with. Commands find it in click's context."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from sojourn.cli.table import RUN, load, view
from sojourn.core.errors import BadInput, SojournError

if TYPE_CHECKING:  # `sojourn --help` needs none of them
    from sojourn.core.settings import Settings
    from sojourn.ports.app import AppContext
    from sojourn.ports.plugin import Plugin

T = TypeVar("T")
Flags = Mapping[str, Any]


class Offers(Protocol):
    """What plugins bring, as the command line sees it."""

    @property
    def problems(self) -> Mapping[str, SojournError]: ...
    def all(self) -> list[Plugin]: ...
    def with_sources(self) -> list[Plugin]: ...
    def commands(self) -> Mapping[str, str]: ...
    def command(self, name: str) -> Any: ...


@dataclass(kw_only=True)
class Given:
    """The flags, and from them, on first use: the settings, the AppContext, the screen."""

    build: Callable[[Flags], AppContext]
    read_settings: Callable[[Flags], Settings]
    plugins: Offers
    flags: dict[str, Any] = field(default_factory=dict)
    json: bool = False
    no_color: bool = False

    @cached_property
    def kit(self) -> AppContext:
        return self.build(self.flags)

    @cached_property
    def settings(self) -> Settings:
        return self.read_settings(self.flags)

    def run(self, work: Callable[[AppContext], Coroutine[Any, Any, T]]) -> T:
        """Runs a coroutine with the AppContext and lets go of the AppContext afterwards."""

        async def whole() -> T:
            kit = self.kit
            try:
                return await work(kit)
            finally:
                await kit.close()
                del self.kit  # a closed one is not used again

        result: T = load(RUN)(whole())
        return result

    # the person
    @property
    def is_asking(self) -> bool:
        """Whether somebody is there to answer."""
        return not self.json and sys.stdin.isatty() and sys.stdout.isatty()

    def ask(self, question: str, *, default: bool = False) -> bool:
        """Yes or no. Ctrl-C works at once, which asyncio would put off to the next step."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return click.confirm(question, default=default, prompt_suffix=" ")
        finally:
            signal.signal(signal.SIGINT, before)

    def insist(self, question: str, *, yes: bool) -> None:
        """Goes on only after a yes; without anybody to ask, `--yes` has to be there."""
        if yes:
            return
        if not self.is_asking:
            raise BadInput("This asks before it acts, and nobody is there to answer.", hint="Say it with --yes.")
        if not self.ask(question):
            click.echo("Nothing was changed.")
            raise click.exceptions.Exit(1)

    # what is shown
    @cached_property
    def screen(self) -> Any:
        return view("console")(no_color=self.no_color)

    def draw(self, name: str, *values: Any, **options: Any) -> None:
        """Shows values to a person: the view of that name in the command table."""
        view(name)(self.screen, *values, **options)

    def progress(self) -> AbstractContextManager[Any]:
        """`with given.progress() as progress`: bars on a terminal, otherwise None."""
        if self.json or not sys.stderr.isatty():
            return nullcontext(None)
        bars: AbstractContextManager[Any] = view("progress")(no_color=self.no_color)
        return bars

    def say(self, sentence: str, value: Any = None) -> None:
        """One sentence for a person, or its value for a script."""
        if self.json:
            emit(value)
        else:
            click.echo(f"{click.style('✓', fg='green')} {sentence}", color=False if self.no_color else None)


def emit(value: Any) -> None:
    """A value as JSON; a list has one line for each of its things."""
    if isinstance(value, list):
        click.echo("[" + ",".join(f"\n{dump(one)}" for one in value) + ("\n]" if value else "]"))
    else:
        click.echo(dump(value))


def dump(value: Any) -> str:
    """JSON text that any reader takes: what is not valid Unicode is escaped, not lost."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def current() -> Given:
    found = click.get_current_context().find_object(Given)
    assert found is not None
    return found


def with_kit(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Makes `async def command(given, kit, …)` a click callback."""

    @wraps(function)
    def callback(**params: Any) -> None:
        given = current()
        given.run(lambda kit: function(given, kit, **params))

    return callback


def with_given(function: Callable[..., None]) -> Callable[..., None]:
    """Makes `def command(given, …)` a click callback; it has no AppContext unless it asks for one."""

    @wraps(function)
    def callback(**params: Any) -> None:
        function(current(), **params)

    return callback
