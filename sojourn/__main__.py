"""`sojourn`, and `python -m sojourn`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sojourn import __version__
from sojourn.lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sojourn.launch import run

    Run = Callable[[Sequence[str]], int]
    _run: Run = run

RUN: Lazy[Run] = Lazy("sojourn.launch:run")


def main() -> int:
    if sys.argv[1:] == ["--version"]:  # scripts ask this often, so the command line is not loaded for it
        sys.stdout.write(f"sojourn {__version__}\n")
        return 0
    return RUN.load()(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
