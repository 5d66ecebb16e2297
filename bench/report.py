"""Bench results: the promises measured, saved with the commit, machine and date they belong to."""

from __future__ import annotations

import json
import os
import platform
import re
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


def at_least(name: str, ours: float, unit: str, *, least: float) -> Bar:
    """A promise of more in plain figures."""
    return Bar(name, ours, None, unit, None, f"at least {least:g} {unit}", ours >= least)


def provenance() -> dict[str, str]:
    """What a result was measured on. A result without these is refused by tests/unit/bench/test_report.py."""
    commit = _output_of("git", "rev-parse", "--short", "HEAD")
    if not commit:
        raise RuntimeError("A result needs the commit it was measured on; run this in a git checkout.")
    changed = _output_of("git", "status", "--porcelain", "--", ":/", ":!/bench/results")
    return {
        "commit": f"{commit}+changes" if changed else commit,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, {platform.python_version()}",
    }


def save_result(name: str, bars: list[Bar], details: dict[str, Any] | None = None, *, folder: Path = RESULTS) -> None:
    """Prints the promises as a table and saves them as JSON and Markdown."""
    table = "\n".join(_rows(bars))
    save_files(name, {"bars": [asdict(one) for one in bars], "details": details or {}}, table, folder)
    print(f"\n{name}\n{table}\n", flush=True)


def save_files(name: str, figures: dict[str, Any], text: str, folder: Path = RESULTS) -> None:
    """Writes `<name>.json` and `<name>.md`; both begin with the provenance."""
    about = provenance()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({**about, **figures}, indent=1, ensure_ascii=False) + "\n")
    head = f"commit {about['commit']} · {about['date']} · {about['machine']}"
    (folder / f"{name}.md").write_text(f"# {name}\n\n{head}\n\n{text}\n")


def find_missing_provenance(folder: Path = RESULTS) -> list[str]:
    """The results that do not say on which commit, machine and date they were measured."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if (path.suffix == ".json" and not _has_fields(path)) or (path.suffix == ".md" and not _has_head(path))
    )


COMMIT = r"[0-9a-f]{7,40}(\+changes)?"
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"


def _has_fields(path: Path) -> bool:
    result = json.loads(path.read_text())
    patterns = {"commit": COMMIT, "date": DATE, "machine": r"\d+ cores, .+"}
    return all(re.fullmatch(pattern, str(result.get(field, ""))) for field, pattern in patterns.items())


def _has_head(path: Path) -> bool:
    head = path.read_text().split("\n")[2:3]
    return bool(head) and re.fullmatch(rf"commit {COMMIT} · {DATE} · \d+ cores, .+", head[0]) is not None


def _rows(bars: list[Bar]) -> list[str]:
    rows = ["| what | ours | theirs | ratio | wanted | |", "|---|---|---|---|---|---|"]
    for one in bars:
        theirs = f"{one.theirs:,.4g} {one.unit}" if one.theirs is not None else "–"
        ratio = f"{one.ratio:.1f}×" if one.ratio is not None else "–"
        mark = "✓" if one.met else "✗"
        rows.append(f"| {one.name} | {one.ours:,.4g} {one.unit} | {theirs} | {ratio} | {one.wanted} | {mark} |")
    return rows


def _output_of(*command: str) -> str:
    return subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True).stdout.strip()
