"""kill -9 at random moments while three processes write: nothing acknowledged is lost."""

import asyncio
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sojourn.core.messages import Message
from sojourn.core.sessions import SessionId
from sojourn.stores.sqlite.store import SqliteStore

WRITER = Path(__file__).with_name("writers.py")


class Writing:
    """One writer process, and every line it was able to say."""

    def __init__(self, kind: str, place: str, name: str) -> None:
        command = [sys.executable, str(WRITER), kind, place, name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.name, self.acknowledged = name, list[tuple[int, int]]()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.endswith("\n"):
                seq, number = line.split()
                self.acknowledged.append((int(seq), int(number)))

    def kill(self) -> list[tuple[int, int]]:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        assert self.process.stdout
        self.process.stdout.close()
        return self.acknowledged


async def numbers_of(store: SqliteStore, session: str) -> list[tuple[int, int]]:
    found = []
    async for kept in store.read(SessionId(session)):
        assert isinstance(kept.item, Message)
        assert kept.item.content
        found.append((kept.seq, int(kept.item.content.split()[2])))
    return found


@pytest.mark.timeout(0)
@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.soak)])
async def test_nothing_acknowledged_is_lost_when_writers_are_killed(home: Path, rounds: int) -> None:
    home.mkdir()
    place, chance = home / "state.db", random.Random(rounds)
    store = SqliteStore(place)
    names = [f"writer_{number}" for number in range(3)]
    for name in names:
        await store.create(id=SessionId(name))
    said: dict[str, set[tuple[int, int]]] = {name: set() for name in names}
    for _ in range(rounds):
        writers = [Writing("sqlite", str(place), name) for name in names]
        await asyncio.to_thread(wait_for_words, writers)
        time.sleep(chance.uniform(0.0, 0.25))
        chance.shuffle(writers)
        for writer in writers:
            said[writer.name] |= set(writer.kill())
    for name in names:
        kept = await numbers_of(store, name)
        assert said[name] <= set(kept), "an acknowledged append is missing"
        assert [seq for seq, _ in kept] == list(range(1, len(kept) + 1)), "numbers have a gap or a repeat"
    assert min(len(words) for words in said.values()) > rounds
    assert (await store.verify()).problems == ()
    await store.close()


def wait_for_words(writers: list[Writing]) -> None:
    """Each has said something: from here on a kill meets it in the middle of its work."""
    deadline = time.monotonic() + 30
    while any(not writer.acknowledged for writer in writers) and time.monotonic() < deadline:
        time.sleep(0.005)
