"""`make bench`: every measurement, or those named: `make bench ARGS="store watch"`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALL = (
    "startup",
    "watch",
    "appends",
    "store",
    "imports",
    "achievements",
    "changes",
    "http_load",
    "templates",
    "streams",
    "turn",
    "skills",
    "memory",
    "handoff",
    "scale",
    "sandbox",
)


def main() -> int:
    asked = sys.argv[1:] or [name for name in ALL if (HERE / f"{name}.py").exists()]
    unknown = [name for name in asked if name not in ALL]
    if unknown:
        print(f"there is no measurement {', '.join(unknown)}; there are {', '.join(ALL)}", file=sys.stderr)
        return 2
    return max(subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=HERE.parent).returncode for name in asked)


if __name__ == "__main__":
    sys.exit(main())
