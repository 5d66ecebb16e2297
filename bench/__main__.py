"""`make bench`: every measurement, or those named: `make bench ARGS="store watch"`.

Some measure public data that is given by path: `make bench ARGS="locomo --data FOLDER"`.
"""

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
    "import_watch",
    "hook_questions",
    "achievements",
    "changes",
    "http_load",
    "templates",
    "streams",
    "turn",
    "gateway",
    "growth",
    "native",
    "skills",
    "memory",
    "search",
    "bfcl-memory",
    "handoff",
    "gateway_idle",
    "scale",
    "sandbox",
    "pages",
)


WITH_DATA = ("locomo", "toole")  # only if named, with their data


def main() -> int:
    options = next((sys.argv[at:] for at, word in enumerate(sys.argv) if word.startswith("--")), [])
    asked = sys.argv[1 : len(sys.argv) - len(options)] or list(ALL)
    unknown = [name for name in asked if name not in (*ALL, *WITH_DATA)]
    if unknown:
        names = ", ".join((*ALL, *WITH_DATA))
        print(f"there is no measurement {', '.join(unknown)}; there are {names}", file=sys.stderr)
        return 2
    commands = ([sys.executable, "-m", f"bench.{name.replace('-', '_')}", *options] for name in asked)
    return max(subprocess.run(command, cwd=HERE.parent).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
