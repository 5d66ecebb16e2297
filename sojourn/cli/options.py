"""Shared options, parameter types and base classes of the commands."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sojourn.cli.command_table import COMPLETE_RUNTIMES, COMPLETE_SESSIONS, COMPLETE_SOURCES
from sojourn.cli.context import CommandContext

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sojourn.cli.command_table import Complete
    from sojourn.lazy import Lazy

F = TypeVar("F", bound=Callable[..., Any])
_UNIT_SECONDS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


def set_flag(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Returns the callback of a flag that sets a setting; it beats the environment and the file."""

    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        context = ctx.find_object(CommandContext)
        if value is not None and context is not None:
            context.flags[name] = value

    return callback


def _set_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    context = ctx.find_object(CommandContext)
    if value and context is not None:
        context.json = True


def json_option() -> click.Option:
    return click.Option(
        ["--json"], is_flag=True, is_eager=True, expose_value=False, callback=_set_json, help="Print JSON, for scripts."
    )


class JsonCommand(click.Command):
    """A command with the option `--json`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(json_option())


class JsonGroup(click.Group):
    """A group of JSON commands. Those in `lazy` are imported when they are used."""

    command_class = JsonCommand
    group_class = type

    def __init__(self, *args: Any, lazy: Mapping[str, Lazy[click.Command]] | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params.append(json_option())
        self._lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *self._lazy]  # in the order of the file, which is the order of use

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._lazy:
            return self._lazy[cmd_name].load()
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            meant = f' Did you mean "{near[0]}"?' if near else ""
            raise click.UsageError(f'There is no command "{args[0]}".{meant}', ctx) from error


class NonEmptyFlag(click.types.BoolParamType):
    """A flag that any non-empty value of its environment variable sets (NO_COLOR)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        return bool(value)


class TimeParam(click.ParamType[float]):
    """A time: `7d` ago, a date, or a date and time. With `end`, a date means all of that day."""

    name = "when"

    def __init__(self, *, end: bool = False) -> None:
        self.end = end

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        if hit := re.fullmatch(r"(\d{1,6})\s*([mhdwy])", text):
            return time.time() - int(hit[1]) * _UNIT_SECONDS[hit[2]]
        try:
            return self._parse(text)
        except (ValueError, OverflowError, OSError):
            self.fail(
                f'"{value}" is not a time. Say 30m, 12h, 7d, 2w, today, 2026-01-31 or 2026-01-31T18:00.', param, ctx
            )

    def _parse(self, text: str) -> float:
        today = datetime.now().astimezone().date()
        days = {"today": today, "yesterday": today - timedelta(days=1)}
        try:
            day = days.get(text) or date.fromisoformat(text)
        except ValueError:
            return datetime.fromisoformat(text.upper()).astimezone().timestamp()
        start = datetime(day.year, day.month, day.day).astimezone()  # a person's day is a local one
        return (start + timedelta(days=1) if self.end else start).timestamp()


class CompletedParam(click.ParamType[str]):
    """A text whose completions come from the application; any text is accepted."""

    def __init__(self, name: str, complete: Lazy[Complete]) -> None:
        self.name, self._complete = name, complete

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        context = ctx.find_object(CommandContext)
        return self._complete.load()(context, incomplete) if context else []


SESSION = CompletedParam("session", COMPLETE_SESSIONS)  # an id, the beginning of one, or a title
RUNTIME = CompletedParam("runtime", COMPLETE_RUNTIMES)  # a name that some plugin offers
SOURCE = CompletedParam("source", COMPLETE_SOURCES)  # the name of a program, or a path


def session_argument(*, many: bool = False) -> Callable[[F], F]:
    return click.argument("session", type=SESSION, nargs=-1 if many else 1, required=True)


source_option = click.option(
    "--source", "sources", multiple=True, metavar="NAME", help="Only from there; may be repeated."
)
since_option = click.option("--since", type=TimeParam(), help="Not before: 30m, 12h, 7d, 2w, today or 2026-01-31.")
until_option = click.option("--until", type=TimeParam(end=True), help="Not after; a date means all of that day.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
