"""CommandContext: flags, settings and application of one run. Commands find it in click's context."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from sojourn.cli.command_table import ASYNCIO_RUN, MAKE_CONSOLE, SHOW_PROGRESS
from sojourn.core.errors import BadInput, SojournError
from sojourn.text.formatting import dump_json

if TYPE_CHECKING:  # `sojourn --help` needs none of them
    from sojourn.cli.command_table import LazyView
    from sojourn.core.settings import Settings
    from sojourn.ports.app import AppContext
    from sojourn.ports.plugin import Plugin
    from sojourn.ports.store_admin import Progress

T = TypeVar("T")
Flags = Mapping[str, Any]


class PluginCommands(Protocol):
    """The plugin registry, as the command line uses it."""

    @property
    def problems(self) -> Mapping[str, SojournError]: ...
    def all(self) -> list[Plugin]: ...
    def with_sources(self) -> list[Plugin]: ...
    def commands(self) -> Mapping[str, str]: ...
    def command(self, name: str) -> Any: ...


@dataclass(kw_only=True)
class CommandContext:
    """The flags, and what is built from them on first use: the settings and the application."""

    build: Callable[[Flags], AppContext]
    read_settings: Callable[[Flags], Settings]
    plugins: PluginCommands
    flags: dict[str, Any] = field(default_factory=dict)
    json: bool = False
    no_color: bool = False

    @cached_property
    def app(self) -> AppContext:
        return self.build(self.flags)

    @cached_property
    def settings(self) -> Settings:
        return self.read_settings(self.flags)

    def run(self, work: Callable[[AppContext], Coroutine[Any, Any, T]]) -> T:
        """Runs the coroutine `work(app)` to its end, then closes the application."""

        async def run_and_close() -> T:
            app = self.app
            try:
                return await work(app)
            finally:
                await app.close()
                del self.app  # the next use builds a new one

        result: T = ASYNCIO_RUN.load()(run_and_close())
        return result

    @property
    def is_interactive(self) -> bool:
        """Whether a person can answer questions: a terminal on both sides and no `--json`."""
        return not self.json and sys.stdin.isatty() and sys.stdout.isatty()

    def ask(self, question: str, *, default: bool = False) -> bool:
        """Asks a yes/no question. Ctrl-C works at once; asyncio would defer it to the next step of the loop."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return click.confirm(question, default=default, prompt_suffix=" ")
        finally:
            signal.signal(signal.SIGINT, before)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ends the command unless the person agrees. BadInput without a terminal and without `--yes`."""
        if yes:
            return
        if not self.is_interactive:
            raise BadInput(
                "This command asks for confirmation, but there is no terminal to ask on.", hint="Confirm with --yes."
            )
        if not self.ask(question):
            click.echo("Nothing was changed.")
            raise click.exceptions.Exit(1)

    def render(self, view: LazyView, *values: Any, **options: Any) -> None:
        """Calls `view(console, *values)` with a console on standard output."""
        view.load()(MAKE_CONSOLE.load()(no_color=self.no_color), *values, **options)

    def show(self, value: Any, view: LazyView, *values: Any, **options: Any) -> None:
        """Prints `value` with `--json`; otherwise renders the view."""
        if self.json:
            emit(value)
        else:
            self.render(view, *values, **options)

    def progress(self) -> AbstractContextManager[Progress | None]:
        """`with context.progress() as progress`: draws bars on a terminal; None in a pipe or with `--json`."""
        if self.json or not sys.stderr.isatty():
            return nullcontext(None)
        return SHOW_PROGRESS.load()(no_color=self.no_color)

    def say(self, sentence: str, value: Any = None) -> None:
        """Prints a sentence, or with `--json` its value."""
        if self.json:
            emit(value)
        else:
            click.echo(f"{click.style('✓', fg='green')} {sentence}", color=False if self.no_color else None)


def emit(value: Any) -> None:
    """Prints a value as JSON; a list with one line per item."""
    if isinstance(value, list):
        click.echo("[" + ",".join(f"\n{dump_json(one)}" for one in value) + ("\n]" if value else "]"))
    else:
        click.echo(dump_json(value))


def current_context() -> CommandContext:
    found = click.get_current_context().find_object(CommandContext)
    assert found is not None
    return found


def with_app(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Makes `async def command(context, app, …)` a click callback."""

    @wraps(function)
    def callback(**params: Any) -> None:
        context = current_context()
        context.run(lambda app: function(context, app, **params))

    return callback


def with_context(function: Callable[..., None]) -> Callable[..., None]:
    """Makes `def command(context, …)` a click callback; the application is built only if it asks for one."""

    @wraps(function)
    def callback(**params: Any) -> None:
        function(current_context(), **params)

    return callback
