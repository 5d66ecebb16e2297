"""`sojourn mcp`: the MCP server on standard input and output, and its entry in the configuration of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sojourn.core.errors import MissingPackage
from sojourn.lazy import Lazy
from sojourn.mcp_server.program_config import PROGRAMS, ConfigChange, plan_install, plan_uninstall
from sojourn.optional_packages import list_missing_packages
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext

if TYPE_CHECKING:
    from sojourn.mcp_server.server import HistoryServer

HISTORY_SERVER: Lazy[type[HistoryServer]] = Lazy("sojourn.mcp_server.server:HistoryServer")  # the SDK takes a second
program_argument = click.argument("program", type=click.Choice(list(PROGRAMS)))
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(invoke_without_command=True)
@click.pass_context
def mcp(context: click.Context) -> None:
    """Give other agents your sessions and your memory, over MCP.

    Without a command it speaks the Model Context Protocol on standard input and output; the program that uses it
    starts it so.
    """
    if context.invoked_subcommand is None:
        context.obj.run(_serve)


async def _serve(app: AppContext) -> None:
    await app.load(HISTORY_SERVER)(app).run_stdio_async()


@mcp.command()
@program_argument
@yes_option
@click.pass_obj
def install(given: CliContext, program: str, yes: bool) -> None:
    """Add Sojourn to the MCP servers of another program.

    Shows the change to its configuration first, and asks.
    """
    if list_missing_packages("mcp"):
        raise MissingPackage("This needs a package that is not installed.", hint="`sojourn plugins install mcp`")
    change = plan_install(PROGRAMS[program], given.settings)
    label = PROGRAMS[program].label
    _carry_out(given, change, f"Let {label} use Sojourn?", f"{label} can use Sojourn from its next start on.", yes)


@mcp.command()
@program_argument
@yes_option
@click.pass_obj
def uninstall(given: CliContext, program: str, yes: bool) -> None:
    """Take Sojourn out of the MCP servers of another program."""
    change = plan_uninstall(PROGRAMS[program], given.settings)
    label = PROGRAMS[program].label
    _carry_out(given, change, f"Take Sojourn out of {label}?", f"{label} no longer uses Sojourn.", yes)


def _carry_out(given: CliContext, change: ConfigChange, question: str, done: str, yes: bool) -> None:
    if change.is_empty:
        click.echo(f"{change.file} is as it should be.")
        return
    click.echo(change.describe())
    given.confirm(question, yes=yes)
    change.write()
    click.echo(done)
