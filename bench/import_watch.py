"""How soon a message of another agent is here, and what watching costs while nothing happens: 10,000 sessions."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench.gateway_idle import read_cpu_seconds, read_memory
from bench.report import limit, save_result

SESSIONS, MESSAGES, PROJECTS, TRIES = 10_000, 4, 50, 5
SETTLE_SECONDS, IDLE_SECONDS, START_SECONDS = 10.0, 60.0, 600.0


def write_home(user_home: Path) -> list[Path]:
    """Sessions of Claude Code."""
    paths: list[Path] = []
    for number in range(SESSIONS):
        own, cwd = f"{number:08d}-1111-4111-8111-111111111111", f"/home/alex/p{number % PROJECTS}"
        folder = user_home / ".claude" / "projects" / cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        paths.append(folder / f"{own}.jsonl")
        paths[-1].write_text("".join(to_line(own, f"{number}-{at}", cwd) for at in range(MESSAGES)))
    return paths


def to_line(session: str, own: str, cwd: str = "/") -> str:
    said = {"role": "user", "content": f"message {own}"}
    head = {"type": "user", "uuid": own, "sessionId": session, "cwd": cwd, "version": "2.1.325"}
    return json.dumps({**head, "timestamp": "2026-03-01T10:00:00.000Z", "message": said}) + "\n"


async def wait_for(db: Path, text: str, seconds: float) -> float:
    """How long it takes until a message is in the store."""
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        if db.exists() and await asyncio.to_thread(is_there, db, text):
            return time.monotonic() - begun
        await asyncio.sleep(0.02)
    raise RuntimeError(f"{text} did not come in {seconds:g} seconds")


def is_there(db: Path, text: str) -> bool:
    try:
        with sqlite3.connect(f"file:{db}?mode=ro", uri=True) as opened:
            found = opened.execute("SELECT 1 FROM messages WHERE content = ?", (text,)).fetchone()
    except sqlite3.OperationalError:  # it is being made
        return False
    opened.close()
    return bool(found)


async def measure(folder: Path) -> tuple[list[float], float, float]:
    user_home, home = folder / "alex", folder / "home"
    paths = write_home(user_home)
    command = [sys.executable, "-m", "sojourn", "--home", str(home), "import", "claude-code", "--yes", "--watch"]
    with (folder / "out").open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, "HOME": str(user_home)}, stdout=out, stderr=out
        )
    try:
        await wait_for(home / "state.db", f"message {SESSIONS - 1}-{MESSAGES - 1}", START_SECONDS)
        for _ in range(int(START_SECONDS)):
            if "Watching" in (folder / "out").read_text():
                break
            await asyncio.sleep(1)
        await asyncio.sleep(SETTLE_SECONDS)
        cpu, begun = read_cpu_seconds(process.pid), time.monotonic()
        await asyncio.sleep(IDLE_SECONDS)
        spent = (read_cpu_seconds(process.pid) - cpu) / (time.monotonic() - begun)
        late: list[float] = []
        for number in range(TRIES):
            path = paths[number * 1000]
            with path.open("a") as file:
                file.write(to_line(path.stem, f"new-{number}"))
            late.append(await wait_for(home / "state.db", f"message new-{number}", 60.0))
            await asyncio.sleep(8)
        return late, 100 * spent, read_memory(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-", ignore_cleanup_errors=True) as name:
        late, cpu, memory = await measure(Path(name))
    bars = [
        limit("a new message is seen, median", statistics.median(late), "s", most=2),
        limit("idle CPU", cpu, "%", most=0.5),
    ]
    details = {"sessions": SESSIONS, "seconds": late, "memory of the watching process, MB": memory}
    save_result("import_watch", bars, details)


if __name__ == "__main__":
    asyncio.run(main())
