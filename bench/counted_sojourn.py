"""`sojourn` with its SQLite statements counted: python -m bench.counted_sojourn FILE ARGUMENTS

On SIGUSR1 it writes the counts since the last one to the file.
"""

from __future__ import annotations

import json
import runpy
import signal
import sys
from pathlib import Path

from bench.statement_counts import StatementCounts


def main() -> None:
    file, sys.argv = Path(sys.argv[1]), ["sojourn", *sys.argv[2:]]
    counts = StatementCounts()

    def save(*_: object) -> None:
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps(counts.take()._asdict()))
        draft.replace(file)

    signal.signal(signal.SIGUSR1, save)
    runpy.run_module("sojourn", run_name="__main__")


if __name__ == "__main__":
    main()
