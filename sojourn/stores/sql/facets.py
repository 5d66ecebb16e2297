"""Facets: how many sessions have each program, project, model, tool, tag and month, in one pass over their columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from sojourn.ports.store import Listing
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.sessions import listing_conditions
from sojourn.text.escape import unescape

_LAST_STAMP = 253_402_300_800  # the end of the year 9999
_DAY = (
    f"CASE WHEN last_active >= 0 AND last_active < {_LAST_STAMP} THEN CAST(last_active * 1000 AS BIGINT) / 86400000 END"
)
_COLUMNS = {
    "program": "program",
    "source": "source",
    "project": "cwd",
    "model": "model",
    "tool": "tools",
    "tag": "tags",
    "month": _DAY,
}
_DAY_SECONDS = 86_400
_SELECTED = ", ".join(f"{column} AS {facet}" for facet, column in _COLUMNS.items())
_LISTS = ("tool", "tag")  # several values, separated by commas
_Values = tuple[Any, ...]  # those of _COLUMNS, and last how many sessions have them


def count_facets(db: Db, listing: Listing) -> dict[str, dict[str, int]]:
    """Counts the values of each facet. The values chosen in one facet limit the others, not that one."""
    chosen = {
        "program": set(listing.programs),
        "source": set(listing.sources),
        "project": set(listing.projects),
        "model": {*listing.models, *((listing.model,) if listing.model else ())},
        "tool": set(listing.tools),
        "tag": set(listing.tags),
    }
    free = replace(listing, programs=(), sources=(), projects=(), models=(), model="", tools=(), tags=(), before=None)
    where, names = listing_conditions(free), ", ".join(_COLUMNS)
    # Grouped by the database: another thread of this process may hold up each row that is fetched.
    found = db.fetch_all(
        f"SELECT {names}, count(*) AS n FROM (SELECT {_SELECTED} FROM sessions s WHERE {where}) AS chosen "
        f"GROUP BY {names}",
        where.params,
    )
    rows: list[_Values] = list(map(itemgetter(*_COLUMNS, "n"), found))
    matching, missing = _split(rows, {facet: wanted for facet, wanted in chosen.items() if wanted})
    counted = {}
    for at, facet in enumerate(_COLUMNS):
        raws: Counter[Any] = Counter()
        for row in (*matching, *missing.get(facet, ())):
            raws[row[at]] += row[-1]
        counts = _count(facet, raws)
        counted[facet] = dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))
    return counted


def _split(rows: Sequence[_Values], chosen: dict[str, set[str]]) -> tuple[Sequence[_Values], dict[str, list[_Values]]]:
    """The rows that have all chosen values, and by facet those that lack only that facet's."""
    if not chosen:
        return rows, {}
    places = {facet: list(_COLUMNS).index(facet) for facet in chosen}
    fitting = {
        facet: {raw for raw in {row[at] for row in rows} if _fits(facet, chosen[facet], raw)}
        for facet, at in places.items()
    }
    matching: list[_Values] = []
    missing: dict[str, list[_Values]] = {facet: [] for facet in chosen}
    for row in rows:
        misses = [facet for facet, at in places.items() if row[at] not in fitting[facet]]
        if not misses:
            matching.append(row)
        elif len(misses) == 1:
            missing[misses[0]].append(row)
    return matching, missing


def _fits(facet: str, wanted: set[str], raw: Any) -> bool:
    """Whether a session has one of the chosen values; of tags, all."""
    values = set(_read_values(facet, raw))
    return wanted <= values if facet == "tag" else not wanted.isdisjoint(values)


def _count(facet: str, raws: Counter[Any]) -> Counter[str]:
    """Counts values; each distinct content of the column is read once."""
    counts: Counter[str] = Counter()
    for raw, times in raws.items():
        for value in _read_values(facet, raw):
            counts[value] += times
    return counts


def _read_values(facet: str, raw: Any) -> list[str]:
    if facet == "month":
        return ["" if raw is None else _to_month(raw)]
    if not raw:
        return []
    return unescape(raw).split(",") if facet in _LISTS else [unescape(raw)]


def _to_month(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY_SECONDS, UTC).strftime("%Y-%m")
