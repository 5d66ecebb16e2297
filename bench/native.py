"""What a turn of `native` costs as shipped, beside the same turn through the API server of Hermes, in one run.

Both ask a scripted model on this machine that answers in 20 chunks and runs in the process that measures. CPU and
memory are those of the servers; rounds take turns. Ours goes on with a session for five turns, Hermes' are new ones.
Times on the wall are the best of some: other work on the machine only adds to them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from statistics import median

from bench import peer
from bench.first_word import read_cpu
from bench.programs import memory_mb, start_sojourn
from bench.report import Bar, at_least, limit, save_result
from bench.turn import TURNS_OF_SESSION, WORDS, session_field
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer

ROUNDS, TURNS, CLIENTS, STARTS = 3, 20, 10, 2
MANY_TURNS = 60
ANSWER = " ".join(f"answer{number}" for number in range(WORDS))
_NUMBERS = count()


@dataclass
class Agent:
    """A running server of ours or theirs, and what was measured of it."""

    address: str
    token: str
    pid: int
    path: str
    to_body: Callable[[str, str], object]  # from a question, and the session so far
    close: Callable[[], None]
    cpu_ms: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)  # until the first text with some clients, medians of rounds

    async def ask(self, session: str = "") -> tuple[float, str]:
        """Asks one question; returns seconds until the first text, and the session."""
        host, port = self.address.removeprefix("http://").split(":")
        body = json.dumps(self.to_body(" ".join(f"word{next(_NUMBERS)}" for _ in range(WORDS)), session))
        began, first, answer = time.monotonic(), 0.0, b""
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"POST {self.path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {self.token}\r\n"
            f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        while piece := await reader.read(65_536):
            answer += piece
            if not first and b"answer0" in answer:
                first = time.monotonic() - began
        writer.close()
        assert f"answer{WORDS - 1}".encode() in answer, answer[-2000:]
        return first, answer.decode().partition('"session_id":"')[2].partition('"')[0]

    async def ask_many(self, turns: int, clients: int) -> list[float]:
        """Asks from some clients at once; returns the seconds until each first text."""
        left, firsts = iter(range(turns)), list[float]()

        async def one_client() -> None:
            session = ""
            for turn in left:
                first, found = await self.ask(session)
                firsts.append(first)
                session = found if turn % TURNS_OF_SESSION else ""

        await asyncio.gather(*(one_client() for _ in range(clients)))
        return firsts

    def measure_cpu(self, *, keep: bool) -> None:
        before = read_cpu(self.pid)
        asyncio.run(self.ask_many(TURNS, 1))
        if keep:
            self.cpu_ms.append((read_cpu(self.pid) - before) / TURNS * 1000)

    def measure_rate(self) -> None:
        began = time.monotonic()
        firsts = asyncio.run(self.ask_many(MANY_TURNS, CLIENTS))
        self.rates.append(MANY_TURNS / (time.monotonic() - began))
        self.first_ms.append(median(firsts) * 1000)


def start_ours(folder: Path, model: ModelServer) -> Agent:
    env = {
        "HOME": str(folder),
        "SOJOURN_MODEL_BASE_URL": model.url,
        "SOJOURN_MODEL": "scripted-1",
        "SOJOURN_MODEL_DETECT": "0",
    }
    program = start_sojourn(folder / "home", "--no-gateway", env=env)

    def to_body(text: str, session: str) -> object:
        return {"message": text, "runtime": "native", **session_field(session)}

    return Agent(program.address, program.token, program.process.pid, "/api/chat/stream", to_body, program.close)


def start_theirs(folder: Path, model: ModelServer) -> Agent:
    hermes = HermesProcess(peer.VENV, folder, model_url=model.url)
    hermes.start()
    assert hermes.pid

    def to_body(text: str, _: str) -> object:
        return {"model": "hermes-agent", "stream": True, "messages": [{"role": "user", "content": text}]}

    return Agent(hermes.url, hermes.key, hermes.pid, "/v1/chat/completions", to_body, hermes.stop)


def measure_start(start: Callable[[Path, ModelServer], Agent], model: ModelServer) -> tuple[float, float]:
    """Seconds of CPU, and on the wall, from nothing to the end of the first answer."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name:
        began = time.monotonic()
        agent = start(Path(name), model)
        try:
            asyncio.run(agent.ask())
            return read_cpu(agent.pid), time.monotonic() - began
        finally:
            agent.close()


def beside(one: Bar, theirs: float, *, more_is_better: bool = False) -> Bar:
    """The same promise, with the peer's figure."""
    return replace(one, theirs=theirs, ratio=one.ours / theirs if more_is_better else theirs / one.ours)


def main() -> int:
    peer.python()
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name, ModelServer([Say(ANSWER)]) as model:
        found = [(measure_start(start_ours, model), measure_start(start_theirs, model)) for _ in range(STARTS)]
        start_cpu = [min(pair[who][0] for pair in found) for who in (0, 1)]
        start_wall = [min(pair[who][1] for pair in found) for who in (0, 1)]
        folders = Path(name) / "ours", Path(name) / "theirs"
        folders[0].mkdir()
        ours, theirs = start_ours(folders[0], model), start_theirs(folders[1], model)
        try:
            for number in range(ROUNDS + 1):
                for agent in (ours, theirs):
                    agent.measure_cpu(keep=number > 0)
            for _ in range(STARTS):
                for agent in (ours, theirs):
                    agent.measure_rate()
            memory = [memory_mb(agent.pid) for agent in (ours, theirs)]
        finally:
            ours.close()
            theirs.close()
    bars = [
        beside(limit("CPU of a turn", median(ours.cpu_ms), "ms", most=40), median(theirs.cpu_ms)),
        beside(limit("memory of the server afterwards", memory[0], "MB", most=130), memory[1]),
        beside(limit("first answer in a new home, start included: CPU", start_cpu[0], "s", most=2), start_cpu[1]),
        beside(limit("first answer in a new home, start included", start_wall[0], "s", most=2), start_wall[1]),
        beside(
            at_least(f"{CLIENTS} clients", max(ours.rates), "turns/s", least=30), max(theirs.rates), more_is_better=True
        ),
        beside(
            limit(f"{CLIENTS} clients: first text, median", min(ours.first_ms), "ms", most=250), min(theirs.first_ms)
        ),
    ]
    save_result("native", bars, {"starts": found, "cpu": [ours.cpu_ms, theirs.cpu_ms]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
