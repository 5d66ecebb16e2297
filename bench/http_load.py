"""The badges while they are being counted: fifty pages ask, and ask again, during one cold scan after another."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from bench.peer import ROOT
from bench.report import Bar, limit, save_result
from bench.store import ours

CLIENTS, EVERY, SECONDS = 50, 0.25, 10.0
ROUTE = "/api/plugins/hermes-achievements"


async def client(address: str, token: str, until: float, number: int) -> list[float]:
    """One page: asks, reads the whole answer, waits a moment, asks again. Returns how long each answer took."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    ask = f"GET {ROUTE}/achievements HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    took: list[float] = []
    await asyncio.sleep(EVERY * number / CLIENTS)
    while time.monotonic() < until:
        began = time.perf_counter()
        writer.write(ask)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(size)
        took.append(time.perf_counter() - began)
        await asyncio.sleep(EVERY)
    writer.close()
    return took


async def clients(address: str, token: str, seconds: float) -> None:
    """The other process."""
    until = time.monotonic() + seconds
    found = await asyncio.gather(*(client(address, token, until, number) for number in range(CLIENTS)))
    print(json.dumps(sorted(one for took in found for one in took)))


def post(address: str, token: str, path: str) -> dict[str, object]:
    asked = urllib.request.Request(
        f"{address}{ROUTE}{path}", method="POST", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=300) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def send_requests(address: str, token: str, seconds: float, *, scanning: bool) -> tuple[list[float], int]:
    """What the clients saw, and how many full scans were made meanwhile."""
    command = [sys.executable, "-m", "bench.http_load", address, token, str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    scans = 0
    while scanning and process.poll() is None:
        post(address, token, "/rescan?mode=full&wait=true")
        scans += 1
    return json.loads(process.communicate()[0]), scans


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        home = Path(folder)
        ours(do="fill", path=str(home / "state.db"), sessions=2000, count=120, size=960)
        command = [str(Path(sys.executable).with_name("sojourn")), "--home", folder, "serve", "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout
            address = server.stdout.readline().split()[1]
            token = json.loads((home / "server.json").read_text())["token"]
            post(address, token, "/rescan?wait=true")
            quiet, _ = send_requests(address, token, SECONDS, scanning=False)
            busy, scans = send_requests(address, token, SECONDS, scanning=True)
        finally:
            server.terminate()
            server.wait(20)
    p95 = [statistics.quantiles(one, n=20)[-1] * 1000 for one in (quiet, busy)]
    save_result(
        "http_load",
        [
            limit(f"badges, {CLIENTS} clients, nothing else running: p95", p95[0], "ms", most=10),
            limit(f"badges, {CLIENTS} clients, during cold scans: p95", p95[1], "ms", most=10),
            Bar("answers during cold scans", len(busy), None, "", None, "–", True),
            Bar("full scans of 240,000 messages meanwhile", scans, None, "", None, "–", scans > 0),
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        asyncio.run(clients(sys.argv[1], sys.argv[2], float(sys.argv[3])))
    else:
        main()
