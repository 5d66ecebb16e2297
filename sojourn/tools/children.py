"""Child processes: each in a group of its own, without our secrets, and gone when its call is.

A command may leave its group (setsid, nohup, a daemon). So every child carries a mark in its environment, and
ending it means: its group, its session, its descendants, and whoever carries the mark.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.settings import Settings

MARK = "SOJOURN_CHILD"
HEAD, TAIL = 12 << 20, 4 << 20  # bytes of output that are kept: the beginning and the end
GRACE = 2.0  # seconds between asking a process to end and ending it


class Output:
    """Bytes as they come: the beginning and the end are kept, what is between is counted."""

    def __init__(self, head: int = HEAD, tail: int = TAIL) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._most_head, self._most_tail = head, tail
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._most_head - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room > 0 else data
        if len(self._tail) > 2 * self._most_tail:
            del self._tail[: -self._most_tail]

    def text(self) -> str:
        head, tail = bytes(self._head), bytes(self._tail[-self._most_tail :])
        lost = self.total - len(head) - len(tail)
        gap = f"\n[… {lost} bytes were not kept …]\n".encode() if lost else b""
        return (head + gap + tail).decode("utf-8", "replace")


class Child:
    """A running command and the end of the pipe its words come out of."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str, out: int, feed: int | None) -> None:
        self.process, self.mark, self.feed = process, mark, feed
        self.output = Output()
        self.started, self._since = time.monotonic(), began(process.pid)
        self.heard: Callable[[bytes], None] = lambda _: None
        self._pipe = open(out, "rb", buffering=0)  # noqa: SIM115 - `end` closes it
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, self._pipe)
        try:
            while data := await reader.read(65536):
                self.output.add(data)
                self.heard(data)
        finally:
            transport.close()

    async def wait(self, seconds: float | None = None) -> bool:
        """Until it ends; False when it has not within the time. What it has written is read then."""
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            return False
        with suppress(TimeoutError):  # a process it left behind may hold the pipe for ever
            async with asyncio.timeout(0.2):
                await asyncio.shield(self._reading)
        return True

    async def end(self) -> int:
        """Ends all of it; returns how many processes were still there. Nothing is left when this returns."""
        if left := self._members():
            _signal(left, signal.SIGTERM)
            until = time.monotonic() + GRACE
            for pause in (0.01, 0.02, *[0.05] * 40):
                if time.monotonic() > until or not self._members():
                    break
                await asyncio.sleep(pause)
            for _ in range(50):  # one that forks while we look is found in the next round
                if not (still := self._members()):
                    break
                _signal(still, signal.SIGKILL)
                await asyncio.sleep(0.02)
        await self.process.wait()
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        self._pipe.close()
        if self.feed is not None:
            os.close(self.feed)
            self.feed = None
        return len(left)

    def _members(self) -> list[int]:
        return members(self.process.pid, self.mark, self._since)


async def ended(child: Child) -> int:
    """`child.end()`, to its end, also when the caller is cancelled meanwhile."""
    ending = asyncio.ensure_future(child.end())
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        await ending
        raise


async def start(
    argv: Sequence[str], *, cwd: Path, settings: Settings, more: Mapping[str, str] | None = None, fed: bool = False
) -> Child:
    """Starts a command in a group of its own. `fed`: it can be written to through `child.feed`. BadInput."""
    mark = os.urandom(8).hex()
    out, into = os.pipe()
    stdin, feed = os.pipe() if fed else (asyncio.subprocess.DEVNULL, None)
    environment = {"PATH": os.defpath, **settings.for_children, **QUIET, **(more or {}), MARK: mark}
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=environment, stdin=stdin, stdout=into, stderr=into, start_new_session=True
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        await ended(Child(process, mark, out, feed))
        raise
    except OSError as error:
        for one in (out, feed):
            if one is not None:
                os.close(one)
        raise BadInput(
            f"{argv[0]} cannot be started: {error.strerror}.", hint="Check the command and its folder."
        ) from error
    finally:
        os.close(into)
        if feed is not None:
            os.close(stdin)
    return Child(process, mark, out, feed)


QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}


def members(leader: int, mark: str, since: int) -> list[int]:
    """Everyone who belongs to a child: its group, its session, its descendants, and who carries its mark. Only
    those that began with it or later (`since`, in ticks) are looked at."""
    if not os.path.exists("/proc/self/stat"):  # noqa: PTH110 - not Linux: the group is all we can see
        return [-leader] if _group_lives(leader) else []
    parents: dict[int, int] = {}
    found: set[int] = set()
    needle = f"{MARK}={mark}".encode()
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdigit()]
    for name in names:
        fields = _about(name)
        if len(fields) < 20 or fields[0] in b"ZX" or int(fields[19]) < since:
            continue
        pid = int(name)
        parents[pid] = int(fields[1])
        if leader in (pid, int(fields[2]), int(fields[3])) or needle in _read(f"/proc/{name}/environ"):
            found.add(pid)
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found and pid not in found}
        found |= below
        grown = bool(below)
    return sorted(found - {os.getpid()})


def began(pid: int) -> int:
    """When a process began, in ticks; 0 when it is gone."""
    fields = _about(str(pid))
    return int(fields[19]) if len(fields) > 19 else 0


def _about(pid: str) -> list[bytes]:
    """State, parent, group, session … of a process; nothing when it is gone."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""  # it has ended, or is another person's
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


def _signal(pids: Sequence[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, what)
