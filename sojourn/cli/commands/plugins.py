"""`sojourn plugins`: who offers what, and which pages of others the dashboard shows."""

from __future__ import annotations

from typing import Any

import click

from sojourn.cli.given import Given, emit, with_given
from sojourn.cli.options import Section, yes_option
from sojourn.core.errors import BadInput
from sojourn.core.plugin_manifest import NEEDS
from sojourn.ports.plugin import Plugin

_SHELF = "sojourn.dashboard.plugin_state"  # by name: no surface knows another


@click.group(cls=Section, invoke_without_command=True)
@click.pass_context
def plugins(ctx: click.Context) -> None:
    """Who offers what, and which plugins do not work.

    Plugins in the folder `plugins` of the home bring a page to the dashboard. They are off until you enable them.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@plugins.command("show", hidden=True)
@with_given
def show(given: Given) -> None:
    """What `sojourn plugins` prints."""
    pages = {one.name: one for one in _shelf(given, "listed")(given.kit)}
    rows = [shape(one, pages.pop(one.name, None)) for one in given.plugins.all()]
    rows += [_broken(name, str(error), error.hint) for name, error in given.plugins.problems.items()]
    rows += [_page(one) for one in pages.values() if not one.built_in]
    if given.json:
        emit(rows)
    else:
        given.draw("plugins", rows)


@plugins.command("enable")
@click.argument("name")
@yes_option
@with_given
def enable(given: Given, name: str, yes: bool) -> None:
    """Turn a dashboard plugin on, after showing what it needs."""
    found = _shelf(given, "third_party")(given.kit, name)
    if found.manifest is None:
        raise BadInput(found.problem, hint=found.hint)
    needs = found.manifest.needs
    if not given.json:
        click.echo(f"{found.manifest.label} {found.manifest.version}: {found.manifest.description or 'says nothing.'}")
        for need in needs:
            click.echo(f"  {need}: {NEEDS[need]}")
        if not needs:
            click.echo("  It needs nothing but its own page.")
    given.insist(f'Turn "{name}" on?', yes=yes)
    _shelf(given, "turn_on")(given.kit, name, needs)
    given.say(f"{name} is on. Its page is {found.manifest.path} in the dashboard.", {"name": name, "state": "on"})


@plugins.command("disable")
@click.argument("name")
@with_given
def disable(given: Given, name: str) -> None:
    """Turn a dashboard plugin off. What it kept stays."""
    was_on = _shelf(given, "turn_off")(given.kit, name)
    given.say(f"{name} is off." if was_on else f"{name} was off already.", {"name": name, "state": "off"})


def _shelf(given: Given, what: str) -> Any:
    return given.kit.load(f"{_SHELF}:{what}")


def shape(plugin: Plugin, page: Any = None) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "summary": plugin.summary,
        "store": plugin.store is not None,
        "sources": [make().name for make in plugin.sources],
        "commands": list(plugin.commands),
        "routes": list(plugin.routes),
        "page": page.manifest.path if page and page.manifest else "",
        "state": "on",
        "needs": [],
        "problem": "",
        "hint": "",
    }


def _page(one: Any) -> dict[str, Any]:
    made = one.manifest
    return {
        "name": one.name,
        "summary": made.description if made else "",
        "store": False,
        "sources": [],
        "commands": [],
        "routes": [],
        "page": made.path if made else "",
        "state": one.state,
        "needs": list(made.needs) if made else [],
        "problem": one.problem,
        "hint": one.hint,
    }


def _broken(name: str, problem: str, hint: str) -> dict[str, Any]:
    return {
        "name": name,
        "summary": "",
        "store": False,
        "sources": [],
        "commands": [],
        "routes": [],
        "page": "",
        "state": "broken",
        "needs": [],
        "problem": problem,
        "hint": hint,
    }
