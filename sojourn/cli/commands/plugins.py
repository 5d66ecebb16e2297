"""`sojourn plugins`: who offers what, and which pages of others the dashboard shows."""

from __future__ import annotations

import shlex
from typing import Any

import click

from sojourn.cli.command_table import PRINT_PLUGINS
from sojourn.cli.context import CommandContext, with_context
from sojourn.cli.options import JsonGroup, yes_option
from sojourn.core.errors import BadInput
from sojourn.dashboard_plugins.manifest import NEEDS
from sojourn.dashboard_plugins.state import InstalledPages, PageState
from sojourn.lazy import dotted_name
from sojourn.optional_packages import build_install_command, install_packages, list_extras, list_missing_packages
from sojourn.ports.plugin import Plugin


@click.group(cls=JsonGroup, invoke_without_command=True)
@click.pass_context
def plugins(ctx: click.Context) -> None:
    """Who offers what, and which plugins do not work.

    Plugins in the folder `plugins` of the home bring a page to the dashboard. They are off until you enable them.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@plugins.command("show", hidden=True)
@with_context
def show(context: CommandContext) -> None:
    """What `sojourn plugins` prints."""
    pages = {one.name: one for one in InstalledPages(context.app).list_pages()}
    rows = [encode_plugin(one, pages.pop(one.name, None)) for one in context.plugins.all()]
    rows += [_encode_problem(name, str(error), error.hint) for name, error in context.plugins.problems.items()]
    rows += [_encode_page(one) for one in pages.values() if not one.built_in]
    context.show(rows, PRINT_PLUGINS, rows)


@plugins.command("enable")
@click.argument("name")
@yes_option
@with_context
def enable(context: CommandContext, name: str, yes: bool) -> None:
    """Turn a dashboard plugin on, after showing what it needs."""
    pages = InstalledPages(context.app)
    found = pages.find_page(name)
    if found.manifest is None:
        raise BadInput(found.problem, hint=found.hint)
    needs = found.manifest.needs
    if not context.json:
        click.echo(
            f"{found.manifest.label} {found.manifest.version}: {found.manifest.description or 'no description.'}"
        )
        for need in needs:
            click.echo(f"  {need}: {NEEDS[need]}")
        if not needs:
            click.echo("  It needs nothing beyond its own page.")
    context.confirm(f'Turn "{name}" on?', yes=yes)
    pages.enable(name, needs)
    context.say(f"{name} is on. Its page is {found.manifest.path} in the dashboard.", {"name": name, "state": "on"})


@plugins.command("disable")
@click.argument("name")
@with_context
def disable(context: CommandContext, name: str) -> None:
    """Turn a dashboard plugin off. What it kept stays."""
    was_on = InstalledPages(context.app).disable(name)
    context.say(f"{name} is off." if was_on else f"{name} was off already.", {"name": name, "state": "off"})


@plugins.command("install")
@click.argument("name")
@yes_option
@with_context
def install(context: CommandContext, name: str, yes: bool) -> None:
    """Install the packages that a part of Sojourn needs: a network, a provider of models, mcp, scan …

    It shows the command first, and asks. A running server uses them at once.
    """
    known = list_extras()
    if name.replace("_", "-") not in known:
        raise BadInput(f"No part named {name!r} needs packages.", hint=f"There are: {', '.join(known)}.")
    packages = list_missing_packages(name)
    if packages:
        install_after_question(context, packages, yes=yes)
    words = f"{name} is installed." if packages else f"All that {name} needs is installed."
    context.say(words, {"name": name, "installed": packages})


def install_after_question(context: CommandContext, packages: list[str], *, yes: bool) -> None:
    """Shows the command that installs the packages, asks, and runs it. MissingPackage says why it failed."""
    if not context.json:
        click.echo(f"  {shlex.join(build_install_command(packages))}")
    context.confirm("Install with this command?", yes=yes)
    context.run(lambda _: install_packages(packages))


def encode_plugin(plugin: Plugin, page: PageState | None = None) -> dict[str, Any]:
    return _encode_problem(plugin.name, "", "") | {
        "summary": plugin.summary,
        "store": plugin.store is not None,
        "sources": [make().name for make in plugin.sources],
        "commands": [dotted_name(one) for one in plugin.commands],
        "routes": [dotted_name(one) for one in plugin.routes],
        "page": page.manifest.path if page and page.manifest else "",
        "state": "on",
    }


def _encode_page(one: PageState) -> dict[str, Any]:
    manifest = one.manifest
    row = _encode_problem(one.name, one.problem, one.hint) | {"state": one.state}
    if manifest is None:
        return row
    return row | {"summary": manifest.description, "page": manifest.path, "needs": list(manifest.needs)}


def _encode_problem(name: str, problem: str, hint: str) -> dict[str, Any]:
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
