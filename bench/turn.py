"""What one turn costs: a question and an answer of 20 pieces through a real server, against a bare floor.

The floor is a FastAPI program that streams the same answer and stores the same rows in one synced transaction. CPU is
that of the whole server process, so that other work on the machine matters little.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing
from pathlib import Path

from bench.peer import ROOT
from bench.report import Bar, at_least, limit, save_result

WORDS = 20
TURNS = 300
TURNS_OF_SESSION = 5
CLIENTS = (1, 10, 50)
SOURCES = ("recall", "facts", "notes", "summary", "skills", "templates", "tasks")


class Program:
    """A server process: its address, its CPU seconds and its memory."""

    def __init__(self, command: list[str], address: str = "", token: str = "") -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout
        self.address, self.token = address or self.process.stdout.readline().split()[1], token

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stdout
        self.process.stdout.close()


async def send_turns(program: Program, turns: int, clients: int, drop: tuple[str, ...]) -> float:
    """Runs turns from some clients at once, each in a session of its own; returns the seconds it took."""
    host, port = program.address.removeprefix("http://").split(":")
    left = iter(range(turns))

    async def one_client(number: int) -> None:
        session = ""
        for count in left:
            text = " ".join(f"word{number}x{count}y{n}" for n in range(WORDS))
            body = json.dumps({"message": text, "runtime": "echo", "drop": list(drop), **session_field(session)})
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(
                f"POST /api/chat/stream HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {program.token}\r\n"
                "Connection: close\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            answer = (await reader.read()).decode()
            writer.close()
            assert "event: done" in answer, answer[:2000]
            found = answer.partition('"session_id":"')[2].partition('"')[0]
            session = found if count % TURNS_OF_SESSION else ""

    began = time.monotonic()
    await asyncio.gather(*(one_client(number) for number in range(clients)))
    return time.monotonic() - began


def session_field(session: str) -> dict[str, str]:
    return {"session_id": session} if session else {}


def measure(program: Program, clients: int, drop: tuple[str, ...] = ()) -> tuple[float, float]:
    """CPU milliseconds of the server for each turn, and turns per second."""
    asyncio.run(send_turns(program, 20 + clients, clients, drop))
    before = program.cpu_seconds()
    seconds = asyncio.run(send_turns(program, TURNS, clients, drop))
    return (program.cpu_seconds() - before) / TURNS * 1000, TURNS / seconds


def start_floor(folder: Path) -> Program:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "bench.turn_floor", str(folder / "floor.db"), str(port)]
    program = Program(command, f"http://127.0.0.1:{port}")
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{program.address}/docs", timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return program
    raise SystemExit("the floor did not start")


def start_ours(home: Path) -> Program:
    command = [sys.executable, "-m", "sojourn", "--home", str(home), "serve", "--port", "0", "--no-gateway"]
    program = Program(command)
    program.token = json.loads((home / "server.json").read_text())["token"]
    return program


def count_rows(home: Path) -> tuple[float, float]:
    """Bytes of events for each byte of answer."""
    with closing(sqlite3.connect(f"file:{home / 'state.db'}?mode=ro", uri=True)) as db:
        events = db.execute("SELECT sum(length(data)) FROM events").fetchone()[0] or 0
        answers = db.execute("SELECT sum(length(content)) FROM messages WHERE role = 'assistant'").fetchone()[0] or 1
    return events, answers


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        folder = Path(name)
        floor = start_floor(folder)
        ours = start_ours(folder / "home")
        try:
            figures = []
            for clients in CLIENTS:
                base, base_rate = measure(floor, clients)
                plain, plain_rate = measure(ours, clients, SOURCES)
                shipped, shipped_rate = measure(ours, clients)
                figures.append((clients, base, base_rate, plain, plain_rate, shipped, shipped_rate))
            memory = ours.memory_mb()
        finally:
            ours.close()
            floor.close()
        events, answers = count_rows(folder / "home")
    bars: list[Bar] = []
    for clients, base, _, plain, plain_rate, shipped, shipped_rate in figures:
        bars.append(limit(f"turn, {clients} clients, memory off: CPU against the floor", plain / base, "×", most=4))
        bars.append(limit(f"turn, {clients} clients, as shipped: CPU against the floor", shipped / base, "×", most=6))
        if clients == CLIENTS[-1]:
            bars.append(at_least(f"{clients} clients, memory off", plain_rate, "turns/s", least=180))
            bars.append(at_least(f"{clients} clients, as shipped", shipped_rate, "turns/s", least=100))
    bars.append(limit("bytes of events for each byte of answer", events / answers, "×", most=2))
    names = ("clients", "floor ms", "floor/s", "memory off ms", "memory off/s", "as shipped ms", "as shipped/s")
    save_result("turn", bars, {"rounds": [dict(zip(names, one, strict=True)) for one in figures], "server MB": memory})
    return 0


if __name__ == "__main__":
    sys.exit(main())
