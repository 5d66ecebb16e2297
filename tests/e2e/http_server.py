"""A real `sojourn serve` on a free port, for the tests beside this file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO

import httpx

PROGRAM = Path(sys.executable).with_name("sojourn")


def start(*args: str, log: IO[str] | None = None, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(PROGRAM), *args],
        stdout=subprocess.PIPE,
        stderr=log or subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


class Serving:
    """`with Serving(home) as server`: up when it begins, stopped and checked when it ends."""

    def __init__(self, home: Path, *args: str, **env: str) -> None:
        self.home = home
        # A pipe nobody reads would stop the server when it is full.
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the server
        self.process = start("--home", str(home), "serve", "--port", "0", *args, log=self._log, env=env)
        assert self.process.stdout
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], self.log()
        self.address = ready[1]
        self.token_line = self.process.stdout.readline().strip()
        self.announced = json.loads((home / "server.json").read_text())
        self.token = self.announced["token"]
        self.client = httpx.Client(
            base_url=self.address, headers={"Authorization": f"Bearer {self.token}"}, timeout=30, trust_env=False
        )

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.stop()
        self._log.close()

    def log(self) -> str:
        """What it said on the error channel so far."""
        self._log.seek(0)
        return self._log.read()

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> tuple[int, float, str]:
        """Its exit code, how long it took, and what it said on the error channel."""
        began = time.monotonic()
        self.process.send_signal(sig)
        try:
            self.process.communicate(timeout=20)
        finally:
            self.process.kill()
        return self.process.returncode, time.monotonic() - began, self.log()

    def get(self, path: str) -> httpx.Response:
        return self.client.get(path)


def frames(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """Server-sent events, comments and the word when to come back left out."""
    frame: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith((":", "retry:")):
            name, _, value = line.partition(": ")
            frame[name] = value
        elif not line and frame:
            yield frame
            frame = {}
