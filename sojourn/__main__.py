"""`sojourn`, and `python -m sojourn`."""

from __future__ import annotations

import gc
import sys

from sojourn import __version__
from sojourn.cli.table import load


def main() -> int:
    if sys.argv[1:] == ["--version"]:  # scripts ask this often, so nothing is loaded for it
        sys.stdout.write(f"sojourn {__version__}\n")
        return 0
    gc.set_threshold(20_000)  # starting makes many objects and hardly any garbage
    given = load("sojourn.cli.given:Given")(
        build=lambda flags: load("sojourn.app:build")(flags),
        read_settings=lambda flags: load("sojourn.config:load")(flags),
        plugins=load("sojourn.plugins:Registry")(),
    )
    return int(load("sojourn.cli.edge:start")(sys.argv[1:], given))


if __name__ == "__main__":
    sys.exit(main())
