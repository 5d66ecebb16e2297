"""What one turn costs: a question and an answer of 20 pieces through a real server, against a bare floor.

The floor is a FastAPI program that streams the same answer and stores the same rows in one synced transaction. CPU is
that of the whole server process, so that other work on the machine matters little; the rounds of floor and server
take turns, and the figures are medians. Statements, commits and syncs are counted in runs of their own.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from statistics import median

from bench.postgres import Postgres, run_postgres
from bench.programs import Program, count_syncs, read_counts, start_sojourn
from bench.report import Bar, at_least, limit, save_result

WORDS = 20
ROUNDS, TURNS = 5, 100  # of each kind; turns in a round
COUNTED_TURNS = 100
TURNS_OF_SESSION = 5
CLIENTS = (1, 10, 50)
SOURCES = ("recall", "facts", "notes", "summary", "skills", "templates", "tasks")
_ROUND_NUMBERS = count()  # no question is asked twice: what recall finds then is another measurement
SETTLE_SECONDS = 2.0  # until what runs behind the turns is done and the counters of PostgreSQL are written


async def send_turns(
    program: Program,
    turns: int,
    clients: int,
    drop: tuple[str, ...] = (),
    runtime: str = "echo",
    words: Sequence[str] = (),
) -> float:
    """Runs turns from some clients at once, each in a session of its own; returns the seconds it took.

    words: what the questions are made of; none: words that occur nowhere else
    """
    host, port = program.address.removeprefix("http://").split(":")
    left, round_number = iter(range(turns)), next(_ROUND_NUMBERS)

    async def one_client(number: int) -> None:
        session = ""
        for turn in left:
            chance, mark = Random(f"{number} {turn}"), f"word{round_number}x{number}x{turn}y"
            text = " ".join(chance.choice(words) if words else f"{mark}{n}" for n in range(WORDS))
            body = json.dumps({"message": text, "runtime": runtime, "drop": list(drop), **session_field(session)})
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
            session = found if turn % TURNS_OF_SESSION else ""

    began = time.monotonic()
    await asyncio.gather(*(one_client(number) for number in range(clients)))
    return time.monotonic() - began


def session_field(session: str) -> dict[str, str]:
    return {"session_id": session} if session else {}


@dataclass
class Series:
    """The rounds of one kind: CPU milliseconds of a turn, and turns per second."""

    program: Program
    drop: tuple[str, ...] = ()
    words: Sequence[str] = ()
    more_cpu: Callable[[], float] = lambda: 0.0  # of other processes that work for it
    cpu_ms: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def run(self, clients: int, *, keep: bool = True) -> None:
        before = self.program.cpu_seconds() + self.more_cpu()
        seconds = asyncio.run(send_turns(self.program, TURNS, clients, self.drop, words=self.words))
        if keep:
            self.cpu_ms.append((self.program.cpu_seconds() + self.more_cpu() - before) / TURNS * 1000)
            self.rates.append(TURNS / seconds)


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


def measure(clients: int, *series: Series) -> None:
    """Runs rounds of each in turn, after one that does not count."""
    for number in range(ROUNDS + 1):
        for one in series:
            one.run(clients, keep=number > 0)


def event_share(home: Path) -> float:
    """Bytes of events for each byte of answer."""
    with closing(sqlite3.connect(f"file:{home / 'state.db'}?mode=ro", uri=True)) as db:
        events = db.execute("SELECT sum(length(data)) FROM events").fetchone()[0] or 0
        answers = db.execute("SELECT sum(length(content)) FROM messages WHERE role = 'assistant'").fetchone()[0] or 1
    return float(events / answers)


def count_work(folder: Path) -> dict[str, float]:
    """What a turn as shipped asks of SQLite, with one client."""
    counts = folder / "counts.json"
    program = start_sojourn(folder / "counted", "--no-gateway", counts=counts)
    try:
        asyncio.run(send_turns(program, COUNTED_TURNS, 1, ()))
        time.sleep(SETTLE_SECONDS)
        read_counts(program, counts)
        asyncio.run(send_turns(program, COUNTED_TURNS, 1, ()))
        found = read_counts(program, counts)
        with count_syncs(program.process.pid) as syncs:
            asyncio.run(send_turns(program, COUNTED_TURNS, 1, ()))
    finally:
        program.close()
    return {
        "statements": found.statements / COUNTED_TURNS,
        "statements inside FTS and triggers": found.inner / COUNTED_TURNS,
        "write transactions": found.writes / COUNTED_TURNS,
        "syncs": len(syncs) / COUNTED_TURNS,
    }


def count_commits(program: Program, postgres: Postgres) -> float:
    postgres.stop_vacuum()
    time.sleep(SETTLE_SECONDS)
    before = postgres.commits()
    asyncio.run(send_turns(program, COUNTED_TURNS, 1, ()))
    time.sleep(SETTLE_SECONDS)
    return (postgres.commits() - before - 1) / COUNTED_TURNS


def main() -> int:
    bars, rounds = list[Bar](), list[dict[str, float]]()
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name, run_postgres() as postgres:
        folder = Path(name)
        floor, ours = start_floor(folder), start_sojourn(folder / "home", "--no-gateway")
        elsewhere = start_sojourn(folder / "elsewhere", "--no-gateway", env={"SOJOURN_DATABASE_URL": postgres.url})
        try:
            for clients in CLIENTS:
                base, plain, shipped = Series(floor), Series(ours, SOURCES), Series(ours)
                shared = Series(elsewhere, more_cpu=postgres.cpu_seconds)
                measure(clients, base, plain, shipped, shared)
                rounds.append(summarize(clients, base, plain, shipped, shared))
                bars += compare(clients, base, plain, shipped, shared)
            memory = ours.memory_mb()
            commits = count_commits(elsewhere, postgres)
        finally:
            for program in (elsewhere, ours, floor):
                program.close()
        share, work = event_share(folder / "home"), count_work(folder)
    bars.append(limit("SQL statements of a turn", work["statements"], "", most=40))
    bars.append(limit("syncs of a turn", work["syncs"], "", most=3))
    bars.append(limit("commits of a turn, PostgreSQL", commits, "", most=12))
    bars.append(limit("bytes of events for each byte of answer", share, "×", most=2))
    save_result("turn", bars, {"rounds": rounds, "one turn": work, "server MB": memory})
    return 0


def summarize(clients: int, *series: Series) -> dict[str, float]:
    found = {"clients": float(clients)}
    for name, one in zip(("floor", "memory off", "as shipped", "PostgreSQL"), series, strict=True):
        found |= {f"{name} ms": round(median(one.cpu_ms), 3), f"{name}/s": round(median(one.rates), 1)}
    return found


def compare(clients: int, base: Series, plain: Series, shipped: Series, shared: Series) -> list[Bar]:
    bars = list[Bar]()
    for what, one, most in (
        ("memory off", plain, 4),
        ("as shipped", shipped, 6),
        ("PostgreSQL, as shipped", shared, 15),
    ):
        ratio = median(one.cpu_ms) / median(base.cpu_ms)
        bars.append(limit(f"turn, {clients} clients, {what}: CPU against the floor", ratio, "×", most=most))
    if clients == CLIENTS[-1]:
        bars.append(at_least(f"{clients} clients, memory off", median(plain.rates), "turns/s", least=180))
        bars.append(at_least(f"{clients} clients, as shipped", median(shipped.rates), "turns/s", least=100))
    return bars


if __name__ == "__main__":
    sys.exit(main())
