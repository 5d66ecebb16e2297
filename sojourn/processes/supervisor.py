"""Supervisor of child processes: starts each in its own session, limits its output and ends its whole tree.

A program may leave its session (setsid, nohup, a daemon). So every child carries a random mark in its environment;
its tree is its process group, its session, its descendants, and every process that carries the mark. A child that
must not outlive this process, even if this process is killed, runs below `watcher.py` (`Watch`).
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

MARK_VARIABLE = "SOJOURN_CHILD"
HEAD_BYTES, TAIL_BYTES = 12 << 20, 4 << 20  # of the captured output, the beginning and the end are kept
LONGEST_LINE_BYTES = 64 << 20  # of a stream; an agent may send a picture on one line
GRACE_SECONDS = 2.0  # between SIGTERM and SIGKILL
_PIPE_HELD_SECONDS = 0.2  # how long to read on after the end: a process left behind may hold the pipe for ever
_READ_BYTES = 64 * 1024
_WATCHER = Path(__file__).with_name("watcher.py")

Connect = Literal["output", "input", "streams"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What the watcher does when this process is gone: ends the child after `grace_seconds`, removes `folder`."""

    grace_seconds: float = 1.0
    folder: Path | None = None


class OutputBuffer:
    """Keeps the beginning and the end of a byte stream and counts the bytes between them."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._head_limit, self._tail_limit = head_bytes, tail_bytes
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        head, tail = bytes(self._head), bytes(self._tail[-self._tail_limit :])
        lost = self.total - len(head) - len(tail)
        gap = f"\n[… {lost} bytes were not kept …]\n".encode() if lost and self._head_limit else b""
        return (head + gap + tail).decode("utf-8", "replace")


class ChildProcess:
    """A running child. `output` is what it has written to stderr, and to stdout unless that is `reader`."""

    def __init__(
        self, process: asyncio.subprocess.Process, mark: str, pipes: _Pipes, output: OutputBuffer | None
    ) -> None:
        self.process, self.pid = process, process.pid
        self.output = output or OutputBuffer()
        self.on_output: Callable[[bytes], None] = lambda _: None
        self.read_pause_seconds = 0.0  # after each read; slows a child down that floods its output
        self.started_at = time.monotonic()
        self._mark, self._start_ticks, self._pipes = mark, start_ticks(process.pid), pipes
        self._capture = asyncio.create_task(self._capture_output())

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    @property
    def stdin_fd(self) -> int | None:
        """The write end of stdin (`connect="input"`)."""
        return self._pipes.feed

    @property
    def reader(self) -> asyncio.StreamReader:
        """Its stdout (`connect="streams"`)."""
        assert self._pipes.reader is not None
        return self._pipes.reader

    @property
    def writer(self) -> asyncio.StreamWriter:
        """Its stdin (`connect="streams"`)."""
        assert self._pipes.writer is not None
        return self._pipes.writer

    async def _capture_output(self) -> None:
        reader = await self._pipes.connect_reader(self._pipes.capture, _READ_BYTES)
        while data := await reader.read(_READ_BYTES):
            self.output.add(data)
            self.on_output(data)
            if self.read_pause_seconds:
                await asyncio.sleep(self.read_pause_seconds)

    async def wait(self, seconds: float | None = None) -> bool:
        """Waits for its end and reads what it has written; False when it is still running after `seconds`."""
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(_PIPE_HELD_SECONDS):
                await asyncio.shield(self._capture)
        return True

    async def end(self, grace_seconds: float = GRACE_SECONDS) -> int:
        """Ends its whole tree and returns how many processes were left. Runs to its end even if cancelled."""
        ending = asyncio.ensure_future(self._end(grace_seconds))
        try:
            return await asyncio.shield(ending)
        except asyncio.CancelledError:
            await ending
            raise

    async def _end(self, grace_seconds: float) -> int:
        if not _has_proc():
            self._pipes.close_lifeline()  # the watcher sees the program's group, which the supervisor cannot
        left = self._tree()
        if left and grace_seconds:
            _send_signal(left, signal.SIGTERM)
            until = time.monotonic() + grace_seconds
            for pause in (0.01, 0.02, *[0.05] * 40):
                if time.monotonic() > until or not self._tree():
                    break
                await asyncio.sleep(pause)
        for round_number in range(50 if left else 0):  # a process forked meanwhile is found in the next round
            if not (still := self._tree()):
                break
            others = [pid for pid in still if pid != self.pid] if round_number < 3 else []
            _send_signal(others or still, signal.SIGKILL)  # the first process last: orphans may come to it
            await asyncio.sleep(0.02)
        await self.process.wait()
        self._capture.cancel()
        with suppress(asyncio.CancelledError):
            await self._capture
        self._pipes.close()
        return len(left)

    def _tree(self) -> list[int]:
        return find_tree(self.pid, self._mark, self._start_ticks)


class _Pipes:
    """The pipes between this process and a child: our ends, and the child's ends until it has started."""

    def __init__(self, connect: Connect, *, watched: bool) -> None:
        self._open: set[int] = set()
        self._transports: list[asyncio.BaseTransport] = []
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None
        self.capture, self.child_stderr = self._pipe()
        self.child_stdin: int = subprocess.DEVNULL
        self.child_stdout = self.child_stderr
        self.feed: int | None = None
        self.child_lifeline: int | None = None
        self._stream: int | None = None
        self._lifeline: int | None = None
        if connect != "output":
            self.child_stdin, self.feed = self._pipe()
        if connect == "streams":
            self._stream, self.child_stdout = self._pipe()
        if watched:
            self.child_lifeline, self._lifeline = self._pipe()

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        return ends

    def _close(self, *fds: int | None) -> None:
        for fd in self._open.intersection(fds):
            os.close(fd)
            self._open.remove(fd)

    def close_child_ends(self) -> None:
        self._close(self.child_stdin, self.child_stdout, self.child_stderr, self.child_lifeline)

    def close_lifeline(self) -> None:
        self._close(self._lifeline)

    async def connect_reader(self, fd: int, limit: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=limit)
        self._open.discard(fd)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
        )
        self._transports.append(transport)
        return reader

    async def connect_streams(self) -> None:
        if self._stream is None or self.feed is None:
            return
        loop = asyncio.get_running_loop()
        self.reader = await self.connect_reader(self._stream, LONGEST_LINE_BYTES)
        fd, self.feed = self.feed, None
        self._open.discard(fd)
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(fd, "wb", buffering=0)
        )
        self._transports.append(transport)
        self.writer = asyncio.StreamWriter(transport, protocol, None, loop)

    def close(self) -> None:
        for transport in self._transports:
            transport.close()
        self._close(*self._open)
        self.feed = None


async def start(
    argv: Sequence[str],
    *,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    connect: Connect = "output",
    watch: Watch | None = None,
    pass_fds: Sequence[int] = (),
    output: OutputBuffer | None = None,
) -> ChildProcess:
    """Starts a program in a session of its own. OSError when it cannot be started.

    argv: the program and its arguments
    env: its environment; this process's when None
    connect: "output" captures stdout and stderr and gives no input; "input" adds `stdin_fd`; "streams" makes stdin
        and stdout `writer` and `reader` and captures stderr
    watch: starts it below a watcher that ends it when this process is gone
    pass_fds: descriptors that the program inherits
    output: keeps what is captured; by default the first 12 MB and the last 4 MB
    """
    mark = os.urandom(8).hex()
    pipes = _Pipes(connect, watched=watch is not None)
    if watch is not None:
        if "/" not in argv[0] and shutil.which(argv[0], path=(os.environ if env is None else env).get("PATH")) is None:
            pipes.close()
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0])
        inherited = ",".join(map(str, pass_fds))
        folder = str(watch.folder or "")
        watcher = [sys.executable, "-I", "-S", str(_WATCHER), str(pipes.child_lifeline), str(watch.grace_seconds)]
        argv = [*watcher, folder, inherited, *argv]
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env={**(os.environ if env is None else env), MARK_VARIABLE: mark},
            stdin=pipes.child_stdin,
            stdout=pipes.child_stdout,
            stderr=pipes.child_stderr,
            start_new_session=True,
            pass_fds=(*pass_fds, *([pipes.child_lifeline] if pipes.child_lifeline is not None else [])),
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await ChildProcess(await starting, mark, pipes, output).end()
        raise
    except OSError:
        pipes.close()
        raise
    finally:
        pipes.close_child_ends()
    child = ChildProcess(process, mark, pipes, output)
    await pipes.connect_streams()
    return child


def start_detached(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Starts a program that outlives this process, in a session of its own, without input."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd=cwd,
        env=env,
    )


def find_tree(leader: int, mark: str, since: int) -> list[int]:
    """The processes of a child's tree: its group, its session, its descendants, and those that carry its mark.

    Only processes that started at `since` (in ticks, see `start_ticks`) or later are looked at.
    """
    if not _has_proc():
        return [-leader] if _group_lives(leader) else []
    parents: dict[int, int] = {}
    found: set[int] = set()
    needle = f"{MARK_VARIABLE}={mark}".encode()
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdigit()]
    for name in names:
        fields = _stat_fields(name)
        if len(fields) < 20 or fields[0] in b"ZX" or int(fields[19]) < since:
            continue
        pid = int(name)
        parents[pid] = int(fields[1])
        if leader in (pid, int(fields[2]), int(fields[3])) or needle in _read(f"/proc/{name}/environ"):
            found.add(pid)
    while below := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= below
    return sorted(found - {os.getpid()})


def start_ticks(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 when it is gone."""
    fields = _stat_fields(str(pid))
    return int(fields[19]) if len(fields) > 19 else 0


def _has_proc() -> bool:
    return os.path.exists("/proc/self/stat")  # noqa: PTH110 - asked often


def _stat_fields(pid: str) -> list[bytes]:
    """State, parent, group, session … of a process; nothing when it is gone."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""  # it has ended, or belongs to another user
    try:
        return os.read(file, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(file)


def _group_lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _send_signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
