"""What a turn of `native` costs as shipped, with a scripted model on this machine that answers in 20 chunks.

CPU and memory are those of our server; the model runs in the process that measures.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench.programs import Program, start_sojourn
from bench.report import at_least, limit, save_result
from bench.turn import WORDS, send_turns
from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer

ROUNDS, TURNS, MANY_TURNS, CLIENTS = 5, 20, 100, 10
ANSWER = " ".join(f"answer{number}" for number in range(WORDS))


def start(home: Path, model: ModelServer) -> Program:
    env = {
        "HOME": str(home.parent),
        "SOJOURN_MODEL_BASE_URL": model.url,
        "SOJOURN_MODEL": "scripted-1",
        "SOJOURN_MODEL_DETECT": "0",
    }
    return start_sojourn(home, "--no-gateway", env=env)


def measure(program: Program) -> tuple[float, float, float]:
    """CPU milliseconds of a turn, megabytes afterwards, and turns per second with some clients."""
    asyncio.run(send_turns(program, TURNS, 1, (), "native"))
    costs = list[float]()
    for _ in range(ROUNDS):
        before = program.cpu_seconds()
        asyncio.run(send_turns(program, TURNS, 1, (), "native"))
        costs.append((program.cpu_seconds() - before) / TURNS * 1000)
    seconds = asyncio.run(send_turns(program, MANY_TURNS, CLIENTS, (), "native"))
    return median(costs), program.memory_mb(), MANY_TURNS / seconds


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as name, ModelServer([Say(ANSWER)]) as model:
        began = time.monotonic()
        program = start(Path(name) / "home", model)
        try:
            asyncio.run(send_turns(program, 1, 1, (), "native"))
            first = time.monotonic() - began
            cpu, memory, rate = measure(program)
        finally:
            program.close()
    bars = [
        limit("CPU of a turn", cpu, "ms", most=40),
        limit("memory of the server afterwards", memory, "MB", most=130),
        limit("first answer in a new home, program start included", first, "s", most=2),
        at_least(f"{CLIENTS} clients", rate, "turns/s", least=30),
    ]
    save_result("native", bars)
    return 0


if __name__ == "__main__":
    sys.exit(main())
