"""How long a person waits for the command line."""

from __future__ import annotations

import asyncio
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import bytecode_cache, peer
from bench.first_word import measure_first_words
from bench.report import bar, limit, save_result
from sojourn.core.messages import user
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript
from sojourn.stores.sqlite.store import SqliteStore

ROUNDS = 7
SESSIONS = 10_000


def main() -> None:
    ours = Path(sys.executable).with_name("sojourn")
    theirs = peer.python().with_name("hermes")
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        home = Path(folder) / "home"
        asyncio.run(fill(home / "state.db"))
        # Its version check would ask the network and wait: it is told that it asked just now.
        peer_home = Path(folder) / "hermes"
        peer_home.mkdir()
        (peer_home / ".update_check").write_text('{"ts": 4102444800, "behind": 0, "rev": null, "ver": "0.19.0"}')
        environment = bytecode_cache.build_environment(Path(folder))
        environment |= {"SOJOURN_HOME": str(home), "HERMES_HOME": str(peer_home), "HOME": folder}
        run([ours, "sessions", "list"], environment)
        run([ours, "--json", "sessions", "list"], environment)
        run([theirs, "--version"], environment)
        version, their_version = [], []
        for _ in range(ROUNDS):
            version.append(run([ours, "--version"], environment)[0])
            their_version.append(run([theirs, "--version"], environment)[0])
        listing = [run([ours, "sessions", "list"], environment)[1] for _ in range(ROUNDS)]
        listing_json = [run([ours, "--json", "sessions", "list"], environment)[1] for _ in range(ROUNDS)]
        first_words = measure_first_words(Path(folder), environment)
    save_result(
        "startup",
        [
            bar(
                "--version",
                statistics.median(version) * 1000,
                statistics.median(their_version) * 1000,
                "ms",
                at_least=5,
                more_is_better=False,
            ),
            limit(f"CPU of `sessions list`, {SESSIONS:,} sessions", statistics.median(listing), "s", most=0.3),
            limit(
                f"CPU of `--json sessions list`, {SESSIONS:,} sessions", statistics.median(listing_json), "s", most=0.3
            ),
            *first_words,
        ],
    )


def run(command: list[str | Path], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds on the wall, and of CPU."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def fill(place: Path) -> None:
    store = SqliteStore(place)
    for start in range(0, SESSIONS, 500):
        batch = [("1", transcript(number)) for number in range(start, start + 500)]
        await store.ingest("bench", "bench", batch, principal=OWNER)
    await store.index(lambda done, of: None)
    await store.close()


def transcript(number: int) -> Transcript:
    fields = {"source": "cli", "started_at": 1.7e9 + number, "title": f"Session number {number}", "model": "some-model"}
    return Transcript(native_id=f"bench_{number:06}", fields=fields, messages=[user(f"question {number}")] * 3)


if __name__ == "__main__":
    main()
