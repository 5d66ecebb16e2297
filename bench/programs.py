"""Programs under measurement: a server process, its CPU and memory, and what it asks of its database."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.peer import ROOT
from bench.statement_counts import Counts

_WAIT_SECONDS = 20.0
_SYNCS = "fsync,fdatasync,sync_file_range,msync"


class Program:
    """A process that prints its address, or `ready`, when it answers."""

    def __init__(self, command: list[str], address: str = "", token: str = "", env: Mapping[str, str] = {}) -> None:
        environment = {**os.environ, **env}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
        assert self.process.stdout
        self.address, self.token = address or self.process.stdout.readline().split()[-1], token

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def memory_mb(self) -> float:
        return memory_mb(self.process.pid)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(_WAIT_SECONDS)
        assert self.process.stdout
        self.process.stdout.close()


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """The CPU time of the threads that a process has, in nanoseconds' precision."""
    nanoseconds = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        except OSError:  # it has ended
            continue
    return nanoseconds / 1e9


def start_sojourn(home: Path, *words: str, counts: Path | None = None, env: Mapping[str, str] = {}) -> Program:
    """A server of ours. `counts`: the file for `read_counts`; then it is slower."""
    module = ["bench.counted_sojourn", str(counts)] if counts else ["sojourn"]
    command = [sys.executable, "-m", *module, "--home", str(home), "serve", "--port", "0", *words]
    program = Program(command, env=env)
    kept = json.loads((home / "server.json").read_text())
    program.address, program.token = kept["address"], kept["token"]
    return program


def read_counts(program: Program, counts: Path) -> Counts:
    counts.unlink(missing_ok=True)
    program.process.send_signal(signal.SIGUSR1)
    until = time.monotonic() + _WAIT_SECONDS
    while not counts.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return Counts(**json.loads(counts.read_text()))


@contextmanager
def count_syncs(pid: int) -> Iterator[list[int]]:
    """The calls that wait for the disk while this is entered, if strace is there; it slows the process down."""
    found = list[int]()
    if shutil.which("strace") is None:
        yield found
        return
    with tempfile.NamedTemporaryFile("r", prefix="sojourn-syncs-") as file:
        command = ["strace", "-f", "-e", f"trace={_SYNCS}", "-p", str(pid), "-o", file.name]
        tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert tracer.stderr
        tracer.stderr.readline()  # "Process … attached"
        yield found
        tracer.send_signal(signal.SIGINT)
        tracer.wait(_WAIT_SECONDS)
        tracer.stderr.close()
        found += [1 for line in file if "sync" in line and "resumed" not in line]
