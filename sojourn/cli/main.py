"""The command `sojourn` itself: its flags, and the commands of the table and of plugins."""

from __future__ import annotations

import click

from sojourn import __version__
from sojourn.cli.given import Given
from sojourn.cli.options import Present, Section, keep
from sojourn.cli.table import COMMANDS, load


class Commands(Section):
    """Knows its commands by name and loads one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in _brought(ctx) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            found = load(COMMANDS[cmd_name][0])
        else:
            given = ctx.find_object(Given)
            found = given.plugins.command(cmd_name) if given else None
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, about) for name, (_, about) in COMMANDS.items()]
        rows += [(name, about) for name, about in _brought(ctx).items() if name not in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _brought(ctx: click.Context) -> dict[str, str]:
    given = ctx.find_object(Given)
    return dict(given.plugins.commands()) if given else {}


def _no_color(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    given = ctx.find_object(Given)
    if value and given is not None:
        given.no_color, ctx.color = True, False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--home",
    metavar="FOLDER",
    is_eager=True,
    expose_value=False,
    callback=keep("home"),
    help="The folder that holds everything (SOJOURN_HOME; ~/.sojourn).",
)
@click.option(
    "--database-url",
    metavar="URL",
    is_eager=True,
    expose_value=False,
    callback=keep("database_url"),
    help="Use a PostgreSQL store (SOJOURN_DATABASE_URL).",
)
@click.option(
    "--no-color",
    is_flag=True,
    type=Present(),
    envvar="NO_COLOR",
    is_eager=True,
    expose_value=False,
    callback=_no_color,
    help="Print without colours (NO_COLOR).",
)
@click.version_option(__version__, prog_name="sojourn", message="%(prog)s %(version)s", help="Print the version.")
def sojourn() -> None:
    """Sojourn keeps your agent sessions: found, searchable, shared by every surface.

    A SESSION is named by its id, the beginning of one, or its title.
    """
