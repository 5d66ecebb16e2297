"""The settings in force."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn.core.settings import SETTINGS, Settings

_ORIGINS = {"default": "dim", "file": "green", "environment": "yellow", "flag": "cyan"}


def print_settings(screen: Console, found: Settings) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("SETTING", no_wrap=True, style="bold")
    table.add_column("VALUE", overflow="fold")
    table.add_column("ORIGIN", no_wrap=True)
    table.add_column("MEANING", ratio=1)
    for one in SETTINGS:
        origin = found.origins[one.name]
        told = f"{origin} {one.variable}" if origin == "environment" else origin
        table.add_row(one.name, _format_value(found[one.name]), Text(told, style=_ORIGINS.get(origin, "")), one.meaning)
    screen.print(table)


def _format_value(value: Any) -> Text:
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    shown = str(value)
    return Text("(none)", style="dim") if shown in ("", "''") else Text(shown)
