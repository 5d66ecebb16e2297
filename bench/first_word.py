"""How much processor time `sojourn chat -q` takes until the first word of the answer, its server included."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.report import Bar, limit
from sojourn.server_file import read_server_file
from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer

ROUNDS = 3
CPU_SECONDS = {"offline": 0.5, "native": 1.8}
NEW_HOME_SECONDS = 2
_STOP_SECONDS = 20.0
_QUESTION = "What is the weather like in the garden?"


def measure_first_words(folder: Path, environment: dict[str, str]) -> list[Bar]:
    """By the rules and by a model on this machine, in a process of its own and with a server that has to start."""
    bars = []
    with ModelServer([Say("Sunny, with a light wind from the west.")]) as model:
        names = {"PROVIDER": "openai", "BASE_URL": model.url, "API_KEY": "k", "NAME": "scripted-1", "DETECT": "no"}
        given = environment | {f"SOJOURN_MODEL_{name}": value for name, value in names.items()}
        for runtime, most in CPU_SECONDS.items():
            for where, flags in (("in one process", ["--in-process"]), ("a server starts", [])):
                home = folder / f"{runtime}-{len(flags)}"
                command: list[str | Path] = [
                    Path(sys.executable).with_name("sojourn"),
                    "chat",
                    "-q",
                    _QUESTION,
                    "--runtime",
                    runtime,
                ]
                found = [_ask([*command, *flags], given, home) for _ in range(ROUNDS + 1)][1:]
                cpu = statistics.median(cpu for cpu, _ in found)
                bars.append(limit(f"CPU to the first word, `{runtime}`, {where}", cpu, "s", most=most))
        found = []
        for _ in range(ROUNDS):
            found.append(_ask([*command], given, home := folder / "new"))
            shutil.rmtree(home)
        cpu = statistics.median(cpu for cpu, _ in found)
        wall = min(wall for _, wall in found)  # other work on the machine only adds to it
        bars.append(limit("CPU to the first answer of a model in a new home", cpu, "s", most=NEW_HOME_SECONDS))
        bars.append(limit("first answer of a model in a new home", wall, "s", most=NEW_HOME_SECONDS))
    return bars


def _ask(command: list[str | Path], environment: dict[str, str], home: Path) -> tuple[float, float]:
    """Seconds of CPU and on the wall until the first byte of the answer; ends the server afterwards."""
    begun = time.perf_counter()
    asking = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment | {"SOJOURN_HOME": str(home)}
    )
    assert asking.stdout
    asking.stdout.read(1)
    wall, server = time.perf_counter() - begun, read_server_file(home)
    cpu = read_cpu(asking.pid) + (read_cpu(server.pid) if server else 0.0)
    asking.communicate()
    if server:
        _end(server.pid)
    return cpu, wall


def read_cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _end(process: int) -> None:
    os.kill(process, signal.SIGTERM)
    until = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < until:
        stat = Path(f"/proc/{process}/stat")
        if not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.05)
    raise SystemExit(f"the server {process} does not stop")
