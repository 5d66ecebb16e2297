"""`sojourn` with its SQLite statements counted: python -m bench.counted_sojourn FILE ARGUMENTS

On SIGUSR1 it writes the counts since the last one to the file.
"""

from __future__ import annotations

import json
import runpy
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def main() -> None:
    file, sys.argv = Path(sys.argv[1]), ["sojourn", *sys.argv[2:]]
    counts = Counter[str]()
    connect = sqlite3.connect

    def count(sql: str) -> None:
        counts["inner" if sql.startswith("--") else "statements"] += 1
        counts["writes"] += sql == "COMMIT" or sql.startswith("INSERT INTO bulk_")

    def counted(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        connection.set_trace_callback(count)
        return connection

    def save(*_: object) -> None:
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps({name: counts[name] for name in ("statements", "inner", "writes")}))
        counts.clear()
        draft.replace(file)

    sqlite3.connect = counted  # type: ignore[assignment]
    signal.signal(signal.SIGUSR1, save)
    runpy.run_module("sojourn", run_name="__main__")


if __name__ == "__main__":
    main()
