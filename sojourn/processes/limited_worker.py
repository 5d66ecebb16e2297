"""A worker process with limits of time and memory, for parsers that meet foreign input of any size.

A parser that hangs or swells blocks its whole process, and only a process can be ended. `run_limited` starts one for a
single call; `LimitedWorker` keeps one for several. Functions and values are pickled, so a function is one of a module.
"""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeVar

try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]
resource: Any = _resource

INLINE_BYTES = 64_000  # a smaller input is parsed where it is: by patterns that take linear time
_MAX_WORKERS = 4  # processes of `run_limited` at once
_START_SECONDS = 10.0  # added to the first call
_NICENESS = 5  # steps of `nice`
T = TypeVar("T")
_places = threading.BoundedSemaphore(_MAX_WORKERS)


class LimitExceeded(Exception):
    """The work was ended because of a limit; says which."""


class LimitedWorker:
    """One process that calls functions, one at a time. After a limit the next call starts a new process."""

    def __init__(self, *, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def call(self, function: Callable[..., T], *args: Any, seconds: float) -> T:
        """The result of `function(*args)`; blocks until it is there. LimitExceeded, or what the function raises."""
        is_first = self._connection is None
        connection = self._connection or self._start()
        try:
            connection.send((seconds, function, args))
            if not connection.poll(seconds + is_first * _START_SECONDS):
                raise LimitExceeded(f"it took longer than {seconds:g} seconds")
            outcome, value = connection.recv()
        except (EOFError, OSError):
            self.close()
            raise LimitExceeded("the process that read it ended") from None
        except LimitExceeded:
            self.close()
            raise
        if outcome == "memory":
            self.close()
            raise LimitExceeded(f"it needs more than {self._memory_bytes >> 20} MB of memory")
        if outcome == "raised":
            raise value
        result: T = value
        return result

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        arguments = [sys.executable, "-I", "-m", "sojourn.processes.limited_worker", str(theirs.fileno())]
        self._process = subprocess.Popen(arguments, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        ours.send((self._memory_bytes, sys.path))
        self._connection = ours
        return ours

    def close(self) -> None:
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.wait()
            self._connection.close()
        self._process = self._connection = None

    def __enter__(self) -> LimitedWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_limited(function: Callable[..., T], *args: Any, seconds: float, memory_bytes: int) -> T:
    """Calls a function in a process of its own; blocks until it is done. LimitExceeded."""
    with _places, LimitedWorker(memory_bytes=memory_bytes) as worker:
        return worker.call(function, *args, seconds=seconds)


def main() -> None:
    """The worker: runs calls until its parent hangs up."""
    connection = Connection(int(sys.argv[1]))
    memory_bytes, sys.path[:] = connection.recv()
    _limit(memory_bytes)
    _lower_priority()
    with suppress(EOFError, OSError):
        while True:
            seconds, function, args = connection.recv()
            _limit_cpu(seconds)
            connection.send_bytes(_call(function, args))


def _call(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps(("done", function(*args)))
    except MemoryError:
        return pickle.dumps(("memory", None))
    except Exception as error:  # noqa: BLE001  the caller gets the error
        return pickle.dumps(("raised", error))


def _limit(memory_bytes: int) -> None:
    if resource is not None:
        with suppress(OSError, ValueError):  # not every system has it
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _lower_priority() -> None:
    """Whoever waits for an answer comes first."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def _limit_cpu(seconds: float) -> None:
    """For a parent that was killed and cannot end us: processor time that goes on ends this process."""
    if resource is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = math.ceil(used.ru_utime + used.ru_stime + seconds) + 1
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))


if __name__ == "__main__":
    main()
