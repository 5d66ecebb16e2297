"""What the sandbox adds to a command: `true`, plain and confined in turn."""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.report import Bar, limit, save_result
from sojourn.sandbox.enforcement import Mechanism, confine, find_support
from sojourn.sandbox.policy import build_policy

RUNS = 60
PLAIN = ["/bin/sh", "-c", "true"]


def measure(argv: list[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(argv, cwd=folder, check=True)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    found = find_support()
    bars: list[Bar] = []
    mechanisms: tuple[Mechanism, ...] = ("bubblewrap", "landlock") if found.mechanism == "bubblewrap" else ("landlock",)
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        workspace, temporary = Path(name, "workspace"), Path(name, "temporary")
        workspace.mkdir()
        temporary.mkdir()
        policy = build_policy(workspace, temporary, sojourn_home=Path(name, "home"), user_home=Path.home())
        for mechanism in mechanisms:
            support = replace(found, mechanism=mechanism)
            added = []
            for _ in range(RUNS):
                plain = measure(PLAIN, workspace)
                added.append(measure(confine(PLAIN, policy, support), workspace) - plain)
            bars.append(limit(f"added to a command by {mechanism}, median", statistics.median(added), "ms", most=30))
    save_result("sandbox", bars)


if __name__ == "__main__":
    main()
