"""What a turn costs in a home of 10,000 sessions, against an empty one: memory off, and as shipped.

The questions consist of words that the messages of that home have, too.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.programs import start_sojourn
from bench.report import limit, save_result
from bench.sample_rows import WORDS
from bench.store import ours as fill_store
from bench.turn import SOURCES, Series, measure

SESSIONS, MESSAGES, CHARS = 10_000, 12, 400  # of each session; of each message


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        folder = Path(name)
        (folder / "full").mkdir()
        fill_store(do="fill", path=str(folder / "full" / "state.db"), sessions=SESSIONS, count=MESSAGES, size=CHARS)
        empty, full = (start_sojourn(folder / home, "--no-gateway") for home in ("empty", "full"))
        try:
            kinds = [Series(one, drop, WORDS) for drop in (SOURCES, ()) for one in (empty, full)]
            measure(1, *kinds)
        finally:
            empty.close()
            full.close()
    plain, plain_full, shipped, shipped_full = (median(one.cpu_ms) for one in kinds)
    bars = [
        limit(f"turn at {SESSIONS:,} sessions, memory off: against an empty store", plain_full / plain, "×", most=1.3),
        limit(f"turn at {SESSIONS:,} sessions, as shipped: CPU more", shipped_full - shipped, "ms", most=25),
    ]
    names = ("empty, memory off", "full, memory off", "empty, as shipped", "full, as shipped")
    save_result(
        "growth",
        bars,
        {f"{name} ms": one for name, one in zip(names, map(median, [k.cpu_ms for k in kinds]), strict=True)},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
