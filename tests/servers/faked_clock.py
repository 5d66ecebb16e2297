"""The wall clock of a real server, set at will by libfaketime; clocks that cannot be set go on as they are."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.servers.system_package import require_program

CACHE_SECONDS = 1  # reading the file for each look at the clock would slow the server down


class FakedClock:
    """`env` is what the server is started with; `set_to` moves its clock while it runs."""

    def __init__(self, folder: Path) -> None:
        require_program("faketime", "faketime")
        libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        if not libraries:
            pytest.skip("libfaketime is not where Debian puts it")
        self._file = folder / "clock"
        self._write(0)
        self.env = {
            "LD_PRELOAD": str(libraries[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": str(CACHE_SECONDS),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def set_to(self, seconds: float) -> None:
        """So many seconds from the true time; in force when this returns."""
        self._write(seconds)
        time.sleep(CACHE_SECONDS + 1.2)

    def _write(self, seconds: float) -> None:
        written = self._file.with_suffix(".new")
        written.write_text(f"{seconds:+.0f}\n")
        written.replace(self._file)
