"""`sojourn continue`: a session goes on in another program."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click

from sojourn.continuation.targets import TARGETS
from sojourn.continuation.writer import ContinuationPlan, ContinuationWriter
from sojourn.core.errors import BadInput
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.text.formatting import dump_json, pluralize


@click.command("continue")
@click.argument("session")
@click.option("--in", "program", type=click.Choice(list(TARGETS)), help="The program to go on in.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where it shall run, if the session's own folder is not on this machine.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--run", is_flag=True, help="Start the program at once; afterwards bring back what was said there.")
@click.option("--undo", is_flag=True, help="Remove what was last written, while the program has added nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
@click.pass_obj
def continue_(
    given: CliContext,
    session: str,
    program: str | None,
    folder: Path | None,
    dry_run: bool,
    run: bool,
    undo: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Go on with a session in another program, and come back.

    Writes the session in the form of that program, after it has shown every file and asked, and prints the program's
    own command that resumes it. What is said there comes back into the same session with the next import.
    """
    given.json = given.json or as_json
    if undo:
        return given.run(lambda app: _undo(given, app, session, program or "", yes=yes))
    if program is None:
        raise BadInput("Say in which program: --in PROGRAM.", hint=f"There are: {', '.join(TARGETS)}.")
    plan = given.run(lambda app: _plan(app, session, program, folder))
    if not given.json:
        click.echo(describe(plan))
    if dry_run:
        return _show(given, plan, written=False)
    given.confirm(f"Write it for {plan.target.label}?", yes=yes)
    given.run(lambda app: ContinuationWriter(app).write(plan))
    _show(given, plan, written=True)
    if run:
        code = _start(plan)
        given.run(lambda app: _bring_back(app, plan))
        sys.exit(code)
    return None


def describe(plan: ContinuationPlan) -> str:
    """What will be written, line by line."""
    native, named = plan.native, plan.session.title or plan.session.id
    said = f"{pluralize(plan.entries, 'message')} and {pluralize(plan.calls, 'tool call')}"
    lines = [f"“{named}” goes on in {plan.target.label}: {said}. New:"]
    lines += [f"  {path}  ({len(text.encode()):,} bytes)" for path, text in native.files.items()]
    if native.database:
        lines.append(f"  {pluralize(len(native.rows), 'row')} in {native.database}")
    if native.load:
        lines.append(f"Then it runs: {shlex.join(native.load)}")
    return "\n".join(lines)


def _show(given: CliContext, plan: ContinuationPlan, *, written: bool) -> None:
    if given.json:
        click.echo(dump_json({**plan.to_json(), "written": written}))
    elif written:
        click.echo(f"Resume it with:\n  cd {shlex.quote(plan.native.folder)} && {shlex.join(plan.resume)}")


async def _plan(app: AppContext, session: str, program: str, folder: Path | None) -> ContinuationPlan:
    return await ContinuationWriter(app).plan(await app.store.resolve(session), program, folder)


async def _undo(given: CliContext, app: AppContext, session: str, program: str, *, yes: bool) -> None:
    writer, found = ContinuationWriter(app), await app.store.resolve(session)
    written = [one for one in await writer.list_written(found) if program in ("", one.value["program"])]
    if written and not given.json:
        value = written[-1].value
        click.echo(
            "\n".join([f"Written for {TARGETS[value['program']].label}:", *(f"  {one}" for one in value["files"])])
        )
    if written:
        given.confirm("Remove it?", yes=yes)
    value = (await writer.undo(found, program)).value
    done = {"session": found.id, "program": value["program"], "native_id": value["native_id"], "undone": True}
    click.echo(dump_json(done) if given.json else "Removed.")


def _start(plan: ContinuationPlan) -> int:
    try:
        return subprocess.run(plan.resume, cwd=plan.native.folder, check=False).returncode
    except FileNotFoundError as error:
        raise BadInput(
            f"{plan.target.label} is not installed here: there is no `{plan.resume[0]}`.",
            hint="The session is written; resume it when it is.",
        ) from error


async def _bring_back(app: AppContext, plan: ContinuationPlan) -> None:
    home = plan.native.home.resolve()
    for found in app.find_histories(source=plan.target.source):
        if found.home == home:
            await app.import_history(found)
