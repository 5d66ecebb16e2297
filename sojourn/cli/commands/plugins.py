"""`sojourn plugins`: who offers what."""

from __future__ import annotations

from typing import Any

import click

from sojourn.cli.given import Given, emit, with_given
from sojourn.cli.options import Command
from sojourn.ports.plugin import Plugin


@click.command(cls=Command)
@with_given
def plugins(given: Given) -> None:
    """Who offers what, and which plugins do not work."""
    rows = [shape(one) for one in given.plugins.all()]
    rows += [_broken(name, str(error), error.hint) for name, error in given.plugins.problems.items()]
    if given.json:
        emit(rows)
    else:
        given.draw("plugins", rows)


def shape(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name, "summary": plugin.summary, "store": plugin.store is not None,
        "sources": [make().name for make in plugin.sources], "commands": list(plugin.commands),
        "routes": list(plugin.routes), "problem": "", "hint": "",
    }  # fmt: skip


def _broken(name: str, problem: str, hint: str) -> dict[str, Any]:
    return {"name": name, "summary": "", "store": False, "sources": [], "commands": [], "routes": [],
            "problem": problem, "hint": hint}  # fmt: skip
