"""`sojourn usage`: tokens and cost by day or month, and how much of the budgets is used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import click

from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand
from sojourn.core.settings import Settings
from sojourn.ports.app import AppContext
from sojourn.ports.store import Record, RecordStore
from sojourn.text.formatting import pluralize
from sojourn.turn_support.cost_limits import USAGE_KIND, WARN_SHARE

_PAGE_RECORDS = 1000  # records
_SUMMED = ("turns", "input_tokens", "output_tokens", "cost_usd")


@click.command(cls=JsonCommand)
@click.option("--by", type=click.Choice(["day", "month"]), default="day", show_default=True, help="How to add it up.")
@click.option("--limit", type=click.IntRange(min=1), default=31, show_default=True, help="At most so many rows.")
@with_app
async def usage(context: CommandContext, app: AppContext, by: str, limit: int) -> None:
    """Tokens and cost of your turns, by day or month.

    It also says what is left of your budgets. Days are those of UTC. Imported sessions are not counted: they were paid
    for elsewhere.
    """
    rows = await sum_usage(app.store, by)
    newest = dict(sorted(rows.items(), reverse=True)[:limit])
    budgets = describe_budgets(app.settings, await sum_usage(app.store, "day"))
    if context.json:
        emit({"by": by, "rows": [{by: name, **row} for name, row in newest.items()], "budgets": budgets})
        return
    if not newest:
        click.echo("Nothing was used yet.")
    for name, row in newest.items():
        spent = f"${row['cost_usd']:.4f}" if row["cost_usd"] else "no known cost"
        tokens = f"{int(row['input_tokens']):>12,} in {int(row['output_tokens']):>10,} out"
        turns = pluralize(int(row["turns"]), "turn")
        click.echo(f"{name}  {turns:>11}  {tokens}  {spent}")
    for one in budgets:
        sign = "!" if one["share"] >= WARN_SHARE else "◦"
        click.echo(
            f"{sign} This {one['period']}: ${one['spent_usd']:.2f} of ${one['limit_usd']:.2f} ({one['share']:.0%})."
        )


async def sum_usage(store: RecordStore, by: str) -> dict[str, dict[str, float]]:
    """The sums of each day (2026-01-31) or month (2026-01)."""
    rows: dict[str, dict[str, float]] = {}
    async for record in _list_usage(store):
        name = record.key[: len("2026-01-31") if by == "day" else len("2026-01")]
        row = rows.setdefault(name, dict.fromkeys(_SUMMED, 0.0))
        for column in _SUMMED:
            row[column] += _to_number(record.value, column)
    return rows


def describe_budgets(settings: Settings, days: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """The budgets that are set, and how much of each is used."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    found = []
    for period, prefix in (("day", today), ("month", today[:7])):
        limit = float(settings[f"agent.spend_{period}_usd"])
        spent = sum(row["cost_usd"] for name, row in days.items() if name.startswith(prefix))
        if limit:
            found.append({"period": period, "limit_usd": limit, "spent_usd": spent, "share": spent / limit})
    return found


async def _list_usage(store: RecordStore) -> AsyncIterator[Record]:
    after = ""
    while found := await store.list_records(USAGE_KIND, after=after, limit=_PAGE_RECORDS):
        for record in found:
            yield record
        after = found[-1].key


def _to_number(value: Any, name: str) -> float:
    found = value.get(name) if isinstance(value, dict) else None
    return float(found) if isinstance(found, int | float) else 0.0
