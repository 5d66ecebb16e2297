"""Results are kept with what they were measured on: commit, machine, date."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Bar:
    """One promise: what was measured, what was promised, and whether it holds."""

    name: str
    ours: float
    theirs: float | None
    unit: str
    ratio: float | None
    wanted: str
    met: bool


def bar(name: str, ours: float, theirs: float, unit: str, *, at_least: float = 0, more_is_better: bool = True) -> Bar:
    """A promise in times better than the peer."""
    ratio = ours / theirs if more_is_better else theirs / ours
    return Bar(name, ours, theirs, unit, ratio, f"at least {at_least:g}×", ratio >= at_least)


def limit(name: str, ours: float, unit: str, *, most: float) -> Bar:
    """A promise in plain figures."""
    return Bar(name, ours, None, unit, None, f"at most {most:g} {unit}", ours <= most)


def keep(name: str, bars: list[Bar], details: dict[str, Any] | None = None) -> None:
    """Prints a table and keeps it as JSON and Markdown."""
    RESULTS.mkdir(exist_ok=True)
    about = {
        "commit": _said("git", "rev-parse", "--short", "HEAD"),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, {platform.python_version()}",
    }
    table = "\n".join(_rows(bars))
    whole = {**about, "bars": [asdict(one) for one in bars], "details": details or {}}
    (RESULTS / f"{name}.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    head = f"# {name}\n\ncommit {about['commit']} · {about['date']} · {about['machine']}\n\n"
    (RESULTS / f"{name}.md").write_text(head + table + "\n")
    print(f"\n{name}\n{table}\n", flush=True)


def _rows(bars: list[Bar]) -> list[str]:
    rows = ["| what | ours | theirs | ratio | wanted | |", "|---|---|---|---|---|---|"]
    for one in bars:
        theirs = f"{one.theirs:,.4g} {one.unit}" if one.theirs is not None else "–"
        ratio = f"{one.ratio:.1f}×" if one.ratio is not None else "–"
        mark = "✓" if one.met else "✗"
        rows.append(f"| {one.name} | {one.ours:,.4g} {one.unit} | {theirs} | {ratio} | {one.wanted} | {mark} |")
    return rows


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()
