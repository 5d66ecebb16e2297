"""Renders badges on a terminal with rich."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

TIER_COLOURS = {
    "Copper": "#b87333",
    "Silver": "#c0c7d2",
    "Gold": "#f2c94c",
    "Diamond": "#67e8f9",
    "Olympian": "#c084fc",
}
_BAR_CHARACTERS = 16


def show_badges(console: Console, snapshot: Mapping[str, Any], category: str | None = None) -> None:
    """Prints all badges, or those of one category, grouped as in the catalogue."""
    items = [one for one in snapshot["achievements"] if category is None or one["category"] == category]
    for name in dict.fromkeys(one["category"] for one in items):
        table = Table(title=name, title_justify="left", title_style="bold", box=None, show_header=False, padding=(0, 1))
        table.add_column(width=2)
        table.add_column(ratio=2, no_wrap=True)
        table.add_column(width=9, no_wrap=True)
        table.add_column(width=_BAR_CHARACTERS, no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
        for one in (item for item in items if item["category"] == name):
            table.add_row(
                _render_mark(one), Text(one["name"]), _render_tier(one), _render_bar(one), _render_numbers(one)
            )
        console.print(table)
        console.print()
    console.print(_render_counts(snapshot))


def show_explanation(console: Console, item: Mapping[str, Any], receipts: Sequence[Mapping[str, Any]]) -> None:
    """Prints one badge: what it counts, its progress, and the messages that counted."""
    head = Text.assemble((item["name"], "bold"), "  ", _render_tier(item), "  ", (item["category"], "dim"))
    console.print(Group(head, Text(item["description"]), Text(f"What counts: {item['criteria']}", "dim")))
    console.print(Text.assemble(_render_bar(item), " ", _render_numbers(item)))
    if item.get("unlocked_at"):
        day = datetime.fromtimestamp(item["unlocked_at"], UTC).astimezone()
        console.print(Text(f"Unlocked {day:%Y-%m-%d %H:%M}", "dim"))
    console.print()
    if not receipts:
        console.print(Text("Nothing in your history counts towards it yet.", "dim"))
    for one in receipts:
        console.print(Text.assemble((one["title"], "bold"), (f"  {one['session_id']} · row {one['row']}", "dim")))
        console.print(_render_excerpt(one), soft_wrap=False)
        console.print()


def show_warning(console: Console, reason: str) -> None:
    console.print(Text(f"✗ {reason}", "red"))


def _render_mark(item: Mapping[str, Any]) -> Text:
    marks = {"unlocked": ("★", "yellow"), "discovered": ("·", "dim"), "secret": ("?", "dim")}
    sign, style = marks[item["state"]]
    return Text(sign, style)


def _render_tier(item: Mapping[str, Any]) -> Text:
    if item["tier"]:
        return Text(item["tier"], TIER_COLOURS[item["tier"]])
    if item["unlocked"]:
        return Text("complete", "green")
    return Text(item["next_tier"] or "", "dim")


def _render_bar(item: Mapping[str, Any]) -> Text:
    """A bar from the last tier to the next; it is empty when a tier has just been reached."""
    if item["state"] == "secret":
        return Text("·" * _BAR_CHARACTERS, "dim")
    full = round(_BAR_CHARACTERS * item["progress_pct"] / 100)
    colour = TIER_COLOURS.get(item["next_tier"] or item["tier"] or "", "green")
    return Text.assemble(("━" * full, colour), ("─" * (_BAR_CHARACTERS - full), "dim"))


def _render_numbers(item: Mapping[str, Any]) -> Text:
    if item["state"] == "secret":
        return Text("hidden", "dim")
    if "requirements" in item:
        return Text(f"{item['progress']} %")
    if item["next_tier"] is None:
        return Text(f"{item['progress']:,}")
    return Text(f"{item['progress']:,} / {item['next_threshold']:,}")


def _render_counts(snapshot: Mapping[str, Any]) -> Text:
    meta = snapshot["scan_meta"]
    return Text.assemble(
        (f"{snapshot['unlocked_count']} of {snapshot['total_count']} unlocked", "bold"),
        f", {snapshot['discovered_count']} in sight, {snapshot['secret_count']} secret",
        (f"  ·  {meta.get('sessions_total', 0):,} sessions", "dim"),
        (f", {meta['malformed_rows']:,} malformed rows" if meta.get("malformed_rows") else "", "yellow"),
    )


def _render_excerpt(receipt: Mapping[str, Any]) -> Text:
    text = Text("  " + receipt["excerpt"].replace("\n", " "))
    for start, end in receipt["highlights"]:
        text.stylize("bold reverse", start + 2, end + 2)
    for tool in receipt["tools"]:
        text.append(f" [{tool}]", "cyan")
    return text
