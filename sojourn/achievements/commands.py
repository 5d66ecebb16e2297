"""`sojourn achievements`: the badges of your history, or of any Hermes home."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sojourn.achievements.cli_view import show_badges, show_explanation, show_warning
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.factory import open_hermes_scans, open_store_scans
from sojourn.achievements.hermes_plugin import HermesPlugin
from sojourn.achievements.service import AchievementsService, serve_lines
from sojourn.achievements.snapshot import build_session_rows
from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.app import HasSettings
from sojourn.ports.cli import CliContext
from sojourn.text.trimmed_file import trim_unless_terminal

_BAR_AFTER_SECONDS = 0.4  # a shorter scan shows no progress bar


_home = click.option(
    "--home", type=click.Path(path_type=Path), metavar="PATH", help="A Hermes home to count instead of our own store."
)
_hermes_home = click.option(
    "--hermes-home", type=click.Path(path_type=Path), metavar="PATH", help="Default: HERMES_HOME, else ~/.hermes."
)
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group(invoke_without_command=True)
@_home
@click.option("--full", is_flag=True, help="Read everything again, whatever is known already.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON: badges, totals and all sessions.")
@click.option("--category", metavar="NAME", help="Only the badges of one category.")
@click.pass_context
def achievements(context: click.Context, home: Path | None, full: bool, as_json: bool, category: str | None) -> None:
    """The badges your history has earned."""
    if context.invoked_subcommand is not None:
        return
    cli: CliContext = context.obj
    with _open_scans(cli, home) as scans:
        _run_scan(scans, full=full, quiet=as_json or cli.json)
        shown = AchievementsService(scans).achievements()
        names = list(dict.fromkeys(badge.category for badge in scans.book.achievements))
        chosen = _find_category(category, names)
        if as_json or cli.json:
            click.echo(json.dumps(_to_json(scans, shown, chosen)))
            return
        console = _make_console(cli)
        show_badges(console, shown, chosen)
        if shown["error"]:
            show_warning(Console(stderr=True), f"This is the last good count: {shown['error']}")


@achievements.command()
@click.argument("badge", metavar="ID")
@_home
@_json
@click.option("--limit", default=10, show_default=True, help="How many receipts to show.")
@click.option("--after", default="", metavar="PLACE", help="Go on after this place (`next` of the JSON form).")
@click.pass_obj
def explain(cli: CliContext, badge: str, home: Path | None, as_json: bool, limit: int, after: str) -> None:
    """What a badge counts, and the messages that made it move."""
    with _open_scans(cli, home) as scans:
        if badge not in {one.id for one in scans.book.achievements}:
            raise NotFound(f'There is no badge "{badge}".', hint="`sojourn achievements --json` has their ids.")
        _run_scan(scans, full=False, quiet=as_json or cli.json)
        service = AchievementsService(scans)
        item = next(one for one in service.achievements()["achievements"] if one["id"] == badge)
        page = service.receipts(badge, limit=limit, after=after)
        if as_json or cli.json:
            click.echo(json.dumps(item | page))
        else:
            show_explanation(_make_console(cli), item, page["receipts"])


@achievements.command("install-hermes-plugin")
@_hermes_home
@_yes
@_json
@click.pass_obj
def install_hermes_plugin(cli: CliContext, hermes_home: Path | None, yes: bool, as_json: bool) -> None:
    """Let the dashboard of a real Hermes show these badges, under the same name and routes."""
    _change_hermes_plugin(cli, hermes_home, yes=yes, as_json=as_json, is_install=True)


@achievements.command("uninstall-hermes-plugin")
@_hermes_home
@_yes
@_json
@click.pass_obj
def uninstall_hermes_plugin(cli: CliContext, hermes_home: Path | None, yes: bool, as_json: bool) -> None:
    """Put things back as they were. Unlock dates stay."""
    _change_hermes_plugin(cli, hermes_home, yes=yes, as_json=as_json, is_install=False)


@achievements.command("answer-hermes", hidden=True)
@click.option("--hermes-home", type=click.Path(path_type=Path), required=True)
@click.pass_obj
def answer_hermes(cli: CliContext, hermes_home: Path) -> None:
    """Answers the plugin inside a Hermes dashboard: one request per line in, one answer per line out."""
    folder = hermes_home / "plugins" / "hermes-achievements"
    with closing(open_hermes_scans(cli.app, hermes_home, folder=folder, gentle=True)) as scans:
        serve_lines(AchievementsService(scans), sys.stdin.buffer, sys.stdout.buffer)


# -- parts ---------------------------------------------------------------------


@contextmanager
def _open_scans(cli: CliContext, home: Path | None) -> Iterator[ScanCoordinator]:
    app = cli.app
    scans = open_store_scans(app) if home is None else open_hermes_scans(app, home)
    try:
        yield scans
    finally:
        scans.close()
        cli.run(_do_nothing)  # closes the store, if it was opened


async def _do_nothing(_app: HasSettings) -> None:
    return None


def _run_scan(scans: ScanCoordinator, *, full: bool, quiet: bool) -> None:
    """Runs a scan to its end; a long one shows a progress bar."""
    scans.run_if_needed(force=True, full=full, wait=_BAR_AFTER_SECONDS)
    if quiet or not sys.stderr.isatty():
        while scans.is_running:
            time.sleep(0.02)
        return
    columns = (TextColumn("Counting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        while scans.is_running:
            status = scans.get_status()
            bar.update(
                task, completed=status["sessions_scanned_so_far"], total=status["sessions_expected_total"] or None
            )
            time.sleep(0.05)


def _make_console(cli: CliContext) -> Console:
    return Console(file=trim_unless_terminal(sys.stdout), no_color=cli.no_color or None)


def _find_category(category: str | None, names: list[str]) -> str | None:
    if category is None:
        return None
    for name in names:
        if name.lower() == category.lower():
            return name
    raise BadInput(f'There is no category "{category}".', hint=f"Categories are: {', '.join(names)}.")


def _to_json(scans: ScanCoordinator, shown: dict[str, Any], category: str | None) -> dict[str, Any]:
    """The complete snapshot, with every session."""
    snapshot = scans.snapshots.get() or {}
    badges = [one for one in shown["achievements"] if category is None or one["category"] == category]
    return {
        **shown,
        "achievements": badges,
        "aggregate": snapshot.get("aggregate", {}),
        "sessions": build_session_rows(scans.book, scans.records, scans.history.previews),
    }


def _change_hermes_plugin(
    cli: CliContext, hermes_home: Path | None, *, yes: bool, as_json: bool, is_install: bool
) -> None:
    """Lists the changes and asks for consent, then makes them; with `--json` they are part of the report instead."""
    cli.json = cli.json or as_json  # `--json` counts after the command as well as before it
    home = hermes_home or _find_hermes_home(cli.app)
    plugin = HermesPlugin(home, sys.executable)
    changes = plugin.changes_to_install() if is_install else plugin.changes_to_uninstall()
    report = {"installed": is_install, "hermes_home": str(home), "changes": changes}
    if not changes:
        click.echo(json.dumps(report) if cli.json else "Nothing to do: the plugin is already in this state.")
        return
    if not cli.json:
        click.echo("\n".join(f"  {change}" for change in changes))
    cli.confirm("Make these changes?" if is_install else "Undo these changes?", yes=yes)
    if is_install:
        plugin.install()
        text = "Installed. Restart `hermes dashboard` to see it."
    else:
        plugin.uninstall()
        text = "Uninstalled. Restart `hermes dashboard`; its own achievements are back."
    click.echo(json.dumps(report) if cli.json else text)


def _find_hermes_home(app: HasSettings) -> Path:
    place = app.settings.places.get("HERMES_HOME")
    return Path(place) if place else app.settings.user_home / ".hermes"
