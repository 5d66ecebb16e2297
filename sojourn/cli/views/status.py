"""Views of the installation: doctor checks, the first screen, settings and plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Column
from rich.text import Text

from sojourn import __version__
from sojourn.cli.commands.doctor_check import DoctorCheck
from sojourn.cli.views.console import make_table
from sojourn.core.settings import Settings
from sojourn.ports.importer import FoundHistory
from sojourn.settings.table import SETTINGS
from sojourn.text.formatting import pluralize

SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}


def print_checks(screen: Console, found: Sequence[DoctorCheck]) -> None:
    table = make_table(Column(no_wrap=True), Column(no_wrap=True, style="bold"), Column(ratio=1), header=False)
    for one in found:
        table.add_row(format_state(one), one.what, _format_detail(one))
    screen.print(table)
    wrong = sum(one.state == "problem" for one in found)
    if wrong:
        screen.print(Text(f"\n{pluralize(wrong, 'problem')} found.", style="bold red"))
    elif warnings := sum(one.state == "warning" for one in found):
        screen.print(Text(f"\nNothing is broken; {pluralize(warnings, 'warning')} to look at.", style="yellow"))
    else:
        screen.print(Text("\nEverything is in order.", style="green"))


def format_state(check: DoctorCheck) -> Text:
    mark, style = SIGNS[check.state]
    return Text(mark, style=style)


def _format_detail(check: DoctorCheck) -> Text:
    text = Text(check.detail)
    if check.hint:
        text.append(f"\n{check.hint}", style="dim")
    return text


_STEPS = (
    ("sojourn chat", "talk to an agent"),
    ("sojourn sessions show WORDS", "read the one with these words in its title"),
    ("sojourn sessions search WORDS", "find anything that was ever said"),
    ("sojourn import", "bring in the history of other agents"),
    ("sojourn dashboard", "all of it in your browser"),
    ("sojourn --help", "everything else"),
)

_PRIVACY = (
    "Everything stays on this machine: nothing is sent anywhere unasked. What you say goes to a model only once you"
    " have connected one."
)


def print_greeting(screen: Console, health: DoctorCheck) -> None:
    screen.print(Text.assemble(("Sojourn", "bold cyan"), (f" {__version__}", "dim")))
    screen.print(Text.assemble(format_state(health), f" The store is {health.detail}"))
    if health.hint:
        screen.print(Text(f"  {health.hint}", style="dim"))
    screen.print()


def print_next_steps(screen: Console, new: Sequence[FoundHistory]) -> None:
    screen.print()
    for one in new:
        offer = f"{pluralize(one.sessions, 'session')} of {one.source} at {one.home} can be imported"
        screen.print(Text.assemble(("! ", "yellow"), f"{offer}: sojourn import {one.source}"))
    table = make_table(header=False)
    for command, about in _STEPS:
        table.add_row(Text(f"  {command}", style="cyan"), Text(about, style="dim"))
    screen.print(table)
    screen.print(Text(f"\n{_PRIVACY}", style="dim"))


_ORIGINS = {"default": "dim", "file": "green", "environment": "yellow", "flag": "cyan"}


def print_settings(screen: Console, found: Settings) -> None:
    table = make_table(
        Column("SETTING", no_wrap=True, style="bold"),
        Column("VALUE", overflow="fold"),
        Column("ORIGIN", no_wrap=True),
        Column("MEANING", ratio=1),
    )
    for one in SETTINGS:
        origin = found.origins[one.name]
        place = f"{origin} {one.variable}" if origin == "environment" else origin
        table.add_row(
            one.name, _format_value(found[one.name]), Text(place, style=_ORIGINS.get(origin, "")), one.meaning
        )
    screen.print(table)


def _format_value(value: Any) -> Text:
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    shown = str(value)
    return Text("(none)", style="dim") if shown in ("", "''") else Text(shown)


def print_plugins(screen: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = make_table(Column("PLUGIN", no_wrap=True, style="bold"), "OFFERS", Column("ABOUT", ratio=1))
    for row in rows:
        if row["problem"]:
            table.add_row(row["name"], Text("does not work", style="red"), Text(f"{row['problem']} {row['hint']}"))
        else:
            table.add_row(row["name"], _list_offers(row), row["summary"])
    screen.print(table)


def _list_offers(row: Mapping[str, Any]) -> str:
    offers = ["a store"] if row["store"] else []
    offers += [f"source {name}" for name in row["sources"]]
    offers += [f"command {dotted.rpartition(':')[2]}" for dotted in row["commands"]]
    offers += ["routes"] if row["routes"] else []
    offers += [f"page {row['page']}"] if row["page"] else []
    offers += _STATES.get(row["state"], [])
    return ", ".join(offers)


_STATES = {"off": ["off until enabled"], "asks": ["off: it needs more than you agreed to"]}
