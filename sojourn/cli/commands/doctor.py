"""`sojourn doctor`: is everything in order, and if not, what to do."""

from __future__ import annotations

import click

from sojourn.cli.checking import Check, examine
from sojourn.cli.given import Given, emit, with_given
from sojourn.cli.options import Command


@click.command(cls=Command)
@with_given
def doctor(given: Given) -> None:
    """Check that everything is in order. Exits with 1 if something is wrong."""
    found: list[Check] = examine(given)
    if given.json:
        emit([{"check": one.what, "state": one.state, "detail": one.detail, "hint": one.hint} for one in found])
    else:
        given.draw("checks", found)
    if any(one.state == "problem" for one in found):
        raise click.exceptions.Exit(1)
