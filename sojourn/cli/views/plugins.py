"""Who offers what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_plugins(screen: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("PLUGIN", no_wrap=True, style="bold")
    table.add_column("OFFERS")
    table.add_column("ABOUT", ratio=1)
    for row in rows:
        if row["problem"]:
            table.add_row(row["name"], Text("does not work", style="red"), Text(f"{row['problem']} {row['hint']}"))
        else:
            table.add_row(row["name"], _list_offers(row), row["summary"])
    screen.print(table)


def _list_offers(row: Mapping[str, Any]) -> str:
    told = ["a store"] if row["store"] else []
    told += [f"source {name}" for name in row["sources"]]
    told += [f"command {dotted.rpartition(':')[2]}" for dotted in row["commands"]]
    told += ["routes"] if row["routes"] else []
    told += [f"page {row['page']}"] if row["page"] else []
    told += _STATES.get(row["state"], [])
    return ", ".join(told)


_STATES = {"off": ["off until enabled"], "asks": ["off: it needs more than you agreed to"]}
