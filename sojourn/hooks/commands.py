"""`sojourn hooks`: puts our hooks into other programs, takes them out again, and shows what was answered."""

from __future__ import annotations

import json
from datetime import datetime

import click

from sojourn.hooks.hook_config import PROGRAMS, HookProgram, is_installed, plan_install, plan_uninstall, write_change
from sojourn.mcp_server.program_config import ConfigChange
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.ports.store import Record

program_argument = click.argument("program", type=click.Choice(list(PROGRAMS)))
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
LEDGER_KIND = "hook_answer"
_MAX_ANSWERS = 1000  # read at once


@click.group()
def hooks() -> None:
    """Answer other agents' questions here: in the dashboard and in chats.

    A program that you started yourself asks Sojourn before it does what needs a permission. The first answer counts,
    and without one in time it is a no. While no server runs, the program asks by itself, as before.
    """


@hooks.command()
@program_argument
@click.option("--seconds", type=click.IntRange(10, 86_000), help="How long a question waits.  [agent.approval_seconds]")
@yes_option
@click.pass_obj
def install(given: CliContext, program: str, seconds: int | None, yes: bool) -> None:
    """Add our hooks to a program.

    Shows the change to its configuration first, and asks.
    """
    target = PROGRAMS[program]
    wait = seconds or int(given.settings["agent.approval_seconds"])
    change = plan_install(target, given.settings, wait)
    done = f"{target.label} asks here from its next start on. {target.after_install}".strip()
    _carry_out(given, change, f"Let {target.label} ask Sojourn?", done, yes)


@hooks.command()
@program_argument
@yes_option
@click.pass_obj
def uninstall(given: CliContext, program: str, yes: bool) -> None:
    """Take our hooks out of a program."""
    target = PROGRAMS[program]
    change = plan_uninstall(target, given.settings)
    _carry_out(given, change, f"Take the hooks out of {target.label}?", f"{target.label} asks by itself again.", yes)


def _carry_out(given: CliContext, change: ConfigChange, question: str, done: str, yes: bool) -> None:
    if change.is_empty:
        click.echo(f"{change.file} is as it should be.")
        return
    click.echo(change.describe())
    given.confirm(question, yes=yes)
    write_change(change)
    click.echo(done)


@hooks.command(name="list")
@click.pass_obj
def list_programs(given: CliContext) -> None:
    """List the programs, and which ones have our hooks."""
    for program in PROGRAMS.values():
        click.echo(_render_program(program, given))


def _render_program(program: HookProgram, given: CliContext) -> str:
    state = "asks here" if is_installed(program, given.settings) else "asks by itself"
    return f"{program.name:<10} {state:<16} {program.locate(given.settings)}"


@hooks.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.pass_obj
def log(given: CliContext, as_json: bool) -> None:
    """Show what was asked and how it was answered, oldest first."""
    for record in given.run(_list_answers):
        click.echo(json.dumps(record.value, ensure_ascii=False) if as_json else _render_answer(record))


async def _list_answers(app: AppContext) -> list[Record]:
    found, after = list[Record](), ""
    while page := await app.store.list_records(LEDGER_KIND, after=after, limit=_MAX_ANSWERS):
        found += page
        after = page[-1].key
    return found


def _render_answer(record: Record) -> str:
    value = record.value
    at = datetime.fromtimestamp(value["answered_at"]).astimezone()
    word = "allowed" if value["choice"] == "once" else "refused"
    who = f" by {value['by']}" if value["by"] else f" ({value['why']})" if value["why"] else ""
    return f"{at:%Y-%m-%d %H:%M:%S}  {word}{who}  {value['program']}  {value['tool']}: {value['text']}"
