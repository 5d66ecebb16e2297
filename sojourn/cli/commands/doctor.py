"""`sojourn doctor`: checks the installation and says how to fix what is wrong."""

from __future__ import annotations

import click

from sojourn.cli.command_table import PRINT_CHECKS
from sojourn.cli.context import CommandContext, emit, with_context
from sojourn.cli.doctor_checks import DoctorCheck, run_checks
from sojourn.cli.options import JsonCommand


@click.command(cls=JsonCommand)
@with_context
def doctor(context: CommandContext) -> None:
    """Check that everything is in order. Exits with 1 if something is wrong."""
    found: list[DoctorCheck] = run_checks(context)
    if context.json:
        emit([{"check": one.what, "state": one.state, "detail": one.detail, "hint": one.hint} for one in found])
    else:
        context.render(PRINT_CHECKS, found)
    if any(one.state == "problem" for one in found):
        raise click.exceptions.Exit(1)
