"""Live streams of a real server, fed by another process that knows nothing of HTTP."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.e2e.http_server import Serving, frames

# Opens the store like any other program of ours: makes a session, then says what it is told to say.
WRITER = """
import asyncio, sys
from pathlib import Path
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import user
from sojourn.stores.sqlite.store import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]))
    session = await store.create(title="written elsewhere")
    print(session.id, flush=True)
    lease = await store.lease(session.id, holder="writer", surface="cli", seconds=120)
    for line in sys.stdin:
        kind, _, text = line.strip().partition(" ")
        item = {"say": user, "chunk": Chunk}[kind](text) if text else Done()
        (kept,) = await store.append(lease, [item])
        print(kept.seq, flush=True)
    await store.close()

asyncio.run(main())
"""


class Writer:
    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-c", WRITER, str(home / "state.db")]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
        )
        self.session = self._heard()

    def _heard(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def __call__(self, words: str) -> int:
        assert self.process.stdin
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return int(self._heard())

    def close(self) -> None:
        self.process.communicate(timeout=20)


@pytest.fixture
def server(home: Path):
    with Serving(home) as running:
        running.get("/api/sessions")  # the store is there
        yield running


@pytest.fixture
def write(server: Serving):
    writer = Writer(server.home)
    yield writer
    writer.close()


def test_what_another_process_keeps_is_seen_at_once(server: Serving, write: Writer) -> None:
    write("say hello")
    delays = []
    with server.client.stream("GET", f"/api/sessions/{write.session}/events?include=messages") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = frames(answer.iter_lines())
        assert next(told)["event"] == "message"
        for number in range(20):
            seq = write(f"chunk piece {number}")
            kept = time.perf_counter()
            frame = next(told)
            delays.append(time.perf_counter() - kept)
            assert (frame["event"], frame["id"]) == ("chunk", str(seq))
            assert json.loads(frame["data"])["text"] == f"piece {number}"
    assert sorted(delays)[10] < 0.25  # generous: the machine is shared


def test_a_client_that_comes_back_gets_the_same_as_one_that_never_left(server: Serving, write: Writer) -> None:
    path = f"/api/sessions/{write.session}/events?include=messages"
    write("say hello")
    seen: list[dict[str, str]] = []
    for turn in range(5):
        headers = {"Last-Event-ID": seen[-1]["id"]} if seen else {}
        with server.client.stream("GET", path, headers=headers) as answer:
            told = frames(answer.iter_lines())
            if not seen:
                seen.append(next(told))
            write(f"chunk live {turn}")
            seen.append(next(told))
        write(f"chunk while away {turn}")
    last = write("done")
    with server.client.stream("GET", path) as answer:
        whole = []
        for frame in frames(answer.iter_lines()):
            whole.append(frame)
            if int(frame["id"]) == last:
                break
    with server.client.stream("GET", path, headers={"Last-Event-ID": seen[-1]["id"]}) as answer:
        for frame in frames(answer.iter_lines()):
            seen.append(frame)
            if int(frame["id"]) == last:
                break
    assert seen == whole
    assert [frame["id"] for frame in whole] == [str(number) for number in range(1, last + 1)]


def test_the_feed_tells_of_sessions_made_elsewhere(server: Serving) -> None:
    with server.client.stream("GET", "/api/changes") as answer:
        told = frames(answer.iter_lines())
        start = int(next(told)["id"])
        writer = Writer(server.home)
        frame = next(told)
        assert frame["event"] == "created"
        assert json.loads(frame["data"])["session"] == writer.session
        assert int(frame["id"]) > start
        writer.close()


async def test_many_listeners_hear_the_same(server: Serving, write: Writer) -> None:
    async def listen() -> list[str]:
        heard: list[str] = []
        async with client.stream("GET", f"/api/sessions/{write.session}/events") as answer:
            ready.release()
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    heard.append(line)
                    if len(heard) == 30:
                        break
        return heard

    ready = asyncio.Semaphore(0)
    async with httpx.AsyncClient(
        base_url=server.address,
        headers=server.client.headers,
        timeout=60,
        trust_env=False,
        limits=httpx.Limits(max_connections=None),
    ) as client:
        listeners = [asyncio.create_task(listen()) for _ in range(40)]
        for _ in listeners:
            await ready.acquire()
        for number in range(30):
            await asyncio.to_thread(write, f"chunk {number}")
        heard = await asyncio.gather(*listeners)
    assert {len(one) for one in heard} == {30}
    assert len({tuple(one) for one in heard}) == 1
