"""Our own client: finds a server or starts one, outlives cut lines and servers, and leaves nothing running."""

import asyncio
import json
import os
import random
import signal
import stat
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bench.paced_runtime import NAME, install_plugin
from sojourn import config
from sojourn.client.launch import connect, ensure_server, find_server
from sojourn.client.remote import RemoteService
from sojourn.core.errors import ServerUnreachable
from sojourn.core.events import Done
from sojourn.core.messages import Message, text_of
from sojourn.ports.service import Caller, TurnRequest
from sojourn.server_file import Server, build_proof
from sojourn.testing.service_steps import merge_chunks
from tests.e2e.http_server import Serving

ME = Caller(surface="cli", holder="a test")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = install_plugin(tmp_path / "packages")
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("SOJOURN_RUNTIME", NAME)
    return path


@pytest.fixture
async def settings(home: Path, packages: str, monkeypatch: pytest.MonkeyPatch):
    """Of a home whose servers go to rest after two seconds."""
    monkeypatch.setenv("SOJOURN_IDLE", "2")
    yield config.load()
    if (left := await find_server(home)) is not None:
        os.kill(left.pid, signal.SIGTERM)
        await gone(left.pid)


async def gone(pid: int, seconds: float = 30) -> None:
    """Returns when a process has ended; it is no child of ours, or one nobody waits for."""
    async with asyncio.timeout(seconds):
        while True:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.05)


def asked(chunks: int, rate: float) -> str:
    return json.dumps({"chunks": chunks, "rate": rate})


async def test_two_who_find_no_server_start_one(settings, home: Path) -> None:
    first, second = await asyncio.gather(ensure_server(settings), ensure_server(settings))
    assert first == second == await find_server(home)
    assert os.getsid(first.pid) == first.pid != os.getsid(0)
    log = home / "logs" / "serve.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert first.token not in log.read_text()
    assert first.address in log.read_text()


async def test_it_goes_to_rest_when_nobody_needs_it_and_the_next_word_wakes_another(settings, home: Path) -> None:
    service = await connect(settings)
    session = await service.open(ME)
    first = await find_server(home)
    assert first is not None
    await gone(first.pid)
    assert await find_server(home) is None
    assert not (home / "server.json").exists()
    assert (await service.get(session.id)).id == session.id
    second = await find_server(home)
    assert second is not None
    assert second.pid != first.pid
    await service.close()


async def test_a_turn_outlives_whoever_began_it_and_keeps_the_server(settings, home: Path) -> None:
    service = await connect(settings)
    session = await service.open(ME)
    await service.say(session.id, TurnRequest(text=asked(45, 10)), ME)  # longer than a server stays for nothing
    server = await find_server(home)
    assert server is not None
    await service.close()
    await gone(server.pid)
    again = await connect(settings)
    answer = (await again.messages(session.id))[-1].item
    assert isinstance(answer, Message)
    assert text_of(answer).split(" ")[::2] == [str(number) for number in range(45)] + [""]
    await again.close()


async def test_an_open_stream_keeps_it(settings, home: Path) -> None:
    service = await connect(settings)
    session = await service.open(ME)
    server = await find_server(home)
    assert server is not None
    async with aclosing(service.watch(session.id)) as log:
        waiting = asyncio.ensure_future(anext(log))
        await asyncio.sleep(4.5)  # more than twice as long as it would stay
        assert await find_server(home) == server
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await service.close()


async def test_a_server_that_cannot_start_says_why(settings, home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[server]\nheartbeat_seconds = 'x'\n")
    with pytest.raises(ServerUnreachable) as told:
        await ensure_server(settings)
    assert "server.heartbeat_seconds" in str(told.value)
    assert "serve.log" in told.value.hint


async def test_a_server_that_takes_too_long_is_given_up(settings, home: Path) -> None:
    with pytest.raises(ServerUnreachable, match="not ready within"):
        await ensure_server(settings, deadline=0.01)
    assert not (home / "server.json").exists()


@asynccontextmanager
async def cutter(address: str, token: str, chance: random.Random) -> AsyncIterator[str]:
    """Stands between client and server and cuts each line after a while. It has the token, so it can prove itself."""
    place = urlsplit(address)
    lines: set[asyncio.Task] = set()

    async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter, bytes_left: int) -> None:
        while bytes_left > 0 and (piece := await source.read(min(1000, bytes_left))):
            target.write(piece)
            await target.drain()
            bytes_left -= len(piece)

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = (await reader.readuntil(b"\r\n\r\n")).decode()
        nonce = question.partition("nonce=")[2].partition(" ")[0]
        proof = json.dumps({"proof": build_proof(token, nonce, writer.get_extra_info("sockname"))})
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(proof)}\r\n\r\n{proof}".encode())
        out = await asyncio.open_connection(place.hostname, place.port)
        both = [
            asyncio.create_task(pass_on(reader, out[1], 10**9)),
            asyncio.create_task(pass_on(out[0], writer, chance.randint(1, 6000))),
        ]
        lines.update(both)
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in both:
                one.cancel()
            for end in (writer, out[1]):
                end.transport.abort()

    server = await asyncio.start_server(between, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for one in lines:
            one.cancel()
        await asyncio.gather(*lines, return_exceptions=True)


@pytest.mark.parametrize("seed", [1, 2])
async def test_lines_that_are_cut_anywhere_lose_nothing(home: Path, packages: str, seed: int) -> None:
    with Serving(home, PYTHONPATH=packages) as serving:
        async with cutter(serving.address, serving.token, random.Random(seed)) as address:
            rough = RemoteService(Server(address=address, token=serving.token))
            smooth = RemoteService(Server(address=serving.address, token=serving.token))
            session = await smooth.open(ME)
            turn = await rough.say(session.id, TurnRequest(text=asked(200, 300)), ME)
            seen = []
            async with aclosing(rough.watch(session.id)) as log:
                async for kept in log:
                    seen.append(kept)
                    if kept.turn == turn.id and isinstance(kept.item, Done):
                        break
            whole = []
            async with aclosing(smooth.watch(session.id)) as log:
                async for kept in log:
                    whole.append(kept)
                    if kept.seq == seen[-1].seq:
                        break
            assert merge_chunks(seen) == merge_chunks(
                whole
            )  # one was read while the chunks came, one after they were folded
            assert len(await smooth.messages(session.id)) == 2  # a request that was sent again began no second turn
            await rough.close()
            await smooth.close()


async def test_a_server_that_is_gone_for_good_is_told(home: Path, packages: str) -> None:
    with Serving(home, PYTHONPATH=packages) as serving:
        service = RemoteService(Server(address=serving.address, token=serving.token), patience=0.5)
        session = await service.open(ME)
        log = service.watch(session.id)
        waiting = asyncio.ensure_future(anext(log))
        await asyncio.sleep(0.2)
        serving.stop()
    with pytest.raises(ServerUnreachable, match="does not answer"):
        await waiting
    with pytest.raises(ServerUnreachable):
        await service.get(session.id)
    await service.close()
