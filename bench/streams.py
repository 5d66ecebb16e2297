"""Many turns at once on one server process: is anything lost, what do we add to each piece, what memory does it take?

The model speaks 20 pieces a second in each turn and says when it spoke. Clients in another process note when each
piece arrives. The same voice is also heard without us (no session, no store) in the same run: the difference is ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bench.paced_runtime import NAME, install_plugin
from bench.peer import ROOT
from bench.report import limit, save_result

RATE = 20.0
SIZES = (50, 100, 200)
SECONDS = 15.0
PREPARING = 0.1  # seconds a turn may take until its voice begins
_FRAME = re.compile(rb"event: (\w+)\ndata: (.*)\nid: (\d+)")


@dataclass
class Heard:
    """What one client noted."""

    words: list[tuple[str, int]] = field(default_factory=list)  # with their time: the number of a piece, its time, …
    ids: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def delays(self) -> list[float]:
        """Milliseconds from the saying of each piece to its arrival."""
        return [(now - int(moment)) / 1e6 for moment, now in self.words[1::2]]

    def faults(self, chunks: int) -> int:
        """Pieces lost, told twice or out of order; and an end that is none."""
        numbers = [int(number) for number, _ in self.words[::2]]
        wrong = sum(a != b for a, b in zip(numbers, range(chunks), strict=False)) + abs(len(numbers) - chunks)
        wrong += sum(b <= a for a, b in zip(self.ids, self.ids[1:], strict=False))
        return wrong + (self.names[-1:] != ["done"]) + (self.names.count("done") != 1)


class Listener(asyncio.Protocol):
    """One client, as bare as can be: it must not be what is measured."""

    def __init__(self, request: bytes, heard: Heard) -> None:
        self._request, self.heard, self._rest, self._word = request, heard, b"", ""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            if found := _FRAME.search(block):
                self._note(found[1].decode(), found[2], int(found[3]), now)

    def _note(self, name: str, data: bytes, number: int, now: int) -> None:
        self.heard.names.append(name)
        self.heard.ids.append(number)
        if name == "chunk":
            text = json.loads(data)["text"]
            *words, self._word = (self._word + text).split(" ")  # pieces that wait together come as one chunk
            self.heard.words += [(word, now) for word in words]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


async def listen(address: str, token: str, count: int, chunks: int, *, bare: bool, seed: int) -> list[Heard]:
    """So many clients at once. The voices begin together, when all turns are prepared, but not at the same moment."""
    place, chance = urlsplit(address), random.Random(seed)
    assert place.hostname
    assert place.port
    loop = asyncio.get_running_loop()
    listeners = []
    begin = time.monotonic() + (1.0 if bare else 1.0 + count * PREPARING)
    for _ in range(count):
        asked = {"chunks": chunks, "rate": RATE, "begin": begin + chance.random()}
        request = _request(place.netloc, token, asked, bare=bare)
        listener = Listener(request, Heard())
        listeners.append(listener)
        await loop.create_connection(lambda made=listener: made, place.hostname, place.port)  # type: ignore[misc]
    await asyncio.gather(*(listener.over for listener in listeners))
    return [listener.heard for listener in listeners]


def _request(host: str, token: str, asked: dict[str, float], *, bare: bool) -> bytes:
    head = f"Host: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    if bare:
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        return f"GET /api/plugins/{NAME}/bare?{query} HTTP/1.1\r\n{head}\r\n".encode()
    body = json.dumps({"message": json.dumps(asked), "runtime": NAME})
    return (
        f"POST /api/chat/stream HTTP/1.1\r\n{head}Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


@dataclass(frozen=True)
class Round:
    """So many streams at once, as their clients saw them."""

    streams: int
    bare: bool
    events: int
    faults: int
    median: float
    p95: float
    worst: float


async def clients(address: str, token: str, count: int, chunks: int, bare: bool, seed: int) -> None:
    heard = await listen(address, token, count, chunks, bare=bare, seed=seed)
    delays = sorted(delay for one in heard for delay in one.delays()) or [float("nan")]
    said = Round(
        count,
        bare,
        sum(len(one.ids) for one in heard),
        sum(one.faults(chunks) for one in heard),
        statistics.median(delays),
        delays[int(len(delays) * 0.95)],
        delays[-1],
    )
    print(json.dumps(asdict(said)))


class Server:
    """A real `sojourn serve` with the paced runtime."""

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        variables = {**os.environ, "PYTHONPATH": install_plugin(folder / "packages"), "SOJOURN_TOKEN": "bench"}
        command = [sys.executable, "-m", "sojourn", "--home", str(home), "serve", "--port", "0"]
        self._log = (folder / "log").open("wb")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, text=True, cwd=ROOT, env=variables
        )
        assert self.process.stdout
        ready = self.process.stdout.readline().split()
        if ready[:1] != ["ready"]:
            raise SystemExit((folder / "log").read_text())
        self.address, self.token = ready[1], "bench"

    def round(self, count: int, chunks: int, *, bare: bool, seed: int) -> Round:
        command = [
            sys.executable,
            "-m",
            "bench.streams",
            self.address,
            self.token,
            str(count),
            str(chunks),
            "bare" if bare else "ours",
            str(seed),
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
        return Round(**json.loads(done.stdout))

    def memory(self) -> float:
        """Megabytes it holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()
        assert self.process.stdout
        self.process.stdout.close()
        self._log.close()


def measure(server: Server, count: int, seconds: float, seed: int = 1) -> tuple[Round, Round, dict[str, float]]:
    """Without us, with us, and what it cost."""
    chunks = int(seconds * RATE)
    bare = server.round(count, chunks, bare=True, seed=seed)
    cpu, begun = server.cpu(), time.monotonic()
    with _Peak(server) as peak:
        ours = server.round(count, chunks, bare=False, seed=seed)
    used = server.cpu() - cpu
    cost = {"cpu": used / (time.monotonic() - begun), "megabytes": peak.most}
    cost["cpu microseconds for each event"] = used / max(1, ours.events) * 1e6
    return bare, ours, cost


class _Peak:
    """The most memory a server held meanwhile."""

    def __init__(self, server: Server) -> None:
        self._server, self.most = server, 0.0

    def __enter__(self) -> _Peak:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._stop.wait(0.25):
            self.most = max(self.most, self._server.memory())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        server = Server(Path(folder))
        try:
            server.round(5, 20, bare=False, seed=0)  # the first ones load what the others use
            at_rest = server.memory()
            rounds = [measure(server, count, SECONDS) for count in SIZES]
        finally:
            server.close()
    bare, ours, _ = rounds[-1]
    faults = sum(without.faults + with_us.faults for without, with_us, _ in rounds)
    grown = [cost["megabytes"] - at_rest for *_, cost in rounds]
    each = (grown[-1] - grown[0]) / (SIZES[-1] - SIZES[0])
    save_result(
        "streams",
        [
            limit(f"events lost, told twice or out of order, {SIZES[-1]} streams", faults, "events", most=0),
            limit(f"added to each piece, median of {SIZES[-1]} streams", ours.median - bare.median, "ms", most=5),
            limit("memory for each further stream", each, "MB", most=1),
        ],
        {
            "pieces per second in each stream": RATE,
            "at rest, MB": round(at_rest, 1),
            "rounds": [{"bare": asdict(bare), "ours": asdict(ours), **cost} for bare, ours, cost in rounds],
        },
    )
    return 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        address, token, count, chunks, kind, seed = sys.argv[1:]
        asyncio.run(clients(address, token, int(count), int(chunks), kind == "bare", int(seed)))
    else:
        sys.exit(main())
