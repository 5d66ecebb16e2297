"""The command `sojourn` itself: its flags, and the commands of the table and of plugins."""

from __future__ import annotations

import click

from sojourn import __version__
from sojourn.cli.command_table import COMMANDS
from sojourn.cli.context import CommandContext
from sojourn.cli.options import JsonGroup, NonEmptyFlag, set_flag

_SECTIONS = {
    "Begin": ("welcome", "chat", "dashboard", "import"),
    "Your sessions": ("sessions", "ask", "memory", "skills", "templates", "achievements", "usage"),
    "Elsewhere": ("gateway", "handoff", "continue", "schedule", "sync", "mcp", "acp"),
    "While it works": ("stop", "approvals"),
    "The server": ("serve", "server", "service", "token", "browsers"),
    "This installation": ("config", "doctor", "store", "model", "plugins", "update", "uninstall", "completion"),
}
_OTHERS = "Commands of plugins"


class RootGroup(JsonGroup):
    """The commands of the table, then those of plugins; each is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in _list_plugin_commands(ctx) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            return COMMANDS[cmd_name].command.load()
        context = ctx.find_object(CommandContext)
        found = context.plugins.command(cmd_name) if context else None
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, about) for name, (_, about) in COMMANDS.items()]
        rows += [(name, about) for name, about in _list_plugin_commands(ctx).items() if name not in COMMANDS]
        width = max(len(name) for name, _ in rows)
        section_of = {name: title for title, names in _SECTIONS.items() for name in names}
        for title in (*_SECTIONS, _OTHERS):
            found = [(f"{name:<{width}}", about) for name, about in rows if section_of.get(name, _OTHERS) == title]
            if found:
                with formatter.section(title):
                    formatter.write_dl(found)


def _list_plugin_commands(ctx: click.Context) -> dict[str, str]:
    context = ctx.find_object(CommandContext)
    return dict(context.plugins.commands()) if context else {}


def _set_no_color(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    context = ctx.find_object(CommandContext)
    if value and context is not None:
        context.no_color, ctx.color = True, False


@click.group(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--home",
    metavar="FOLDER",
    is_eager=True,
    expose_value=False,
    callback=set_flag("home"),
    help="The folder that holds everything (SOJOURN_HOME; ~/.sojourn).",
)
@click.option(
    "--database-url",
    metavar="URL",
    is_eager=True,
    expose_value=False,
    callback=set_flag("database_url"),
    help="Use a PostgreSQL store (SOJOURN_DATABASE_URL).",
)
@click.option(
    "--no-color",
    is_flag=True,
    type=NonEmptyFlag(),
    envvar="NO_COLOR",
    is_eager=True,
    expose_value=False,
    callback=_set_no_color,
    help="Print without colours (NO_COLOR).",
)
@click.version_option(__version__, prog_name="sojourn", message="%(prog)s %(version)s", help="Print the version.")
def sojourn() -> None:
    """Sojourn keeps your agent sessions: found, searchable, shared by every surface.

    New here? `sojourn welcome` looks around, `sojourn chat` begins a conversation.

    A SESSION is named by its id, the beginning of one, its title, or a part of its title.
    """
