"""Talking to a real server in another process: lines that break, programs of others, and a server that is killed."""

import json
import random
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest

import sojourn
from bench.paced_runtime import NAME, install_plugin
from tests.e2e.http_server import Serving, frames

README = Path(sojourn.__file__).parents[1] / "README.md"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> str:
    return install_plugin(tmp_path_factory.mktemp("packages"))


@pytest.fixture
def server(home: Path, packages: str):
    with Serving(home, PYTHONPATH=packages, SOJOURN_HEARTBEAT="0.05") as running:
        yield running


def asked(chunks: int, rate: float = 200) -> str:
    return json.dumps({"chunks": chunks, "rate": rate})


class Line:
    """A connection one can cut anywhere, even within a frame. Keeps the frames that came whole, as bytes."""

    def __init__(self, server: Serving, request: str, body: str = "") -> None:
        place = urlsplit(server.address)
        self._socket = socket.create_connection((place.hostname or "", place.port or 0), timeout=20)
        head = f"{request} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
        length = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
        self._socket.sendall(f"{head}{length}\r\n{body}".encode())
        self._raw = b""

    def read(self, at_most: int) -> bool:
        """Takes in up to so many bytes; False when the other side has ended."""
        piece = self._socket.recv(at_most)
        self._raw += piece
        return bool(piece)

    def cut(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")  # no goodbye
        self._socket.close()

    def frames(self) -> list[bytes]:
        """Event frames as they stand on the wire; comments and the framing of HTTP left out."""
        body, rest = b"", self._raw.partition(b"\r\n\r\n")[2]
        while found := re.match(rb"([0-9a-f]+)\r\n", rest):
            size, start = int(found[1], 16), found.end()
            body, rest = body + rest[start : start + size], rest[start + size + 2 :]
        whole = body.split(b"\n\n")[:-1]
        return [frame for frame in whole if not frame.startswith((b":", b"retry:"))]


def number(frame: bytes) -> str:
    return frame.rpartition(b"id: ")[2].decode()


def merged(frames: list[bytes]) -> list[tuple[str, str]]:
    """Number and text of each frame; chunks in a row are one, because that is how they are kept when a turn is over."""
    whole: list[tuple[str, str]] = []
    for frame in frames:
        if frame.startswith(b"event: chunk"):
            text = json.loads(frame.split(b"\n")[1].removeprefix(b"data: "))["text"]
            before = whole.pop()[1] if whole and whole[-1][1].startswith("chunk ") else "chunk "
            whole.append((number(frame), before + text))
        else:
            whole.append((number(frame), frame.decode()))
    return whole


def is_over(got: list[bytes]) -> bool:
    return bool(got) and got[-1].startswith(b"event: done")


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)])
def test_a_client_that_comes_back_20_times_gets_the_same_bytes(server: Serving, seed: int) -> None:
    """Its POST breaks in the middle of a frame, and so does every GET after it."""
    chance = random.Random(seed)
    line = Line(server, "POST /api/chat/stream", json.dumps({"message": asked(300), "runtime": NAME}))
    while not line.frames():
        assert line.read(200)
    session = json.loads(line.frames()[0].split(b"\n")[1].removeprefix(b"data: "))["session_id"]
    steady = Line(server, f"GET /api/sessions/{session}/events")
    got = line.frames()
    line.cut()
    for _ in range(20):
        query = f"GET /api/sessions/{session}/events?after={number(got[-1])}"
        line = Line(server, query)
        for _ in range(chance.randint(1, 6)):
            if is_over(got + line.frames()):
                break
            line.read(chance.randint(1, 1500))
        got += line.frames()
        line.cut()
    line = Line(server, f"GET /api/sessions/{session}/events?after={number(got[-1])}")
    while not is_over(got + line.frames()):
        assert line.read(65536)
    got += line.frames()
    while not is_over(steady.frames()):
        assert steady.read(65536)
    late = Line(server, f"GET /api/sessions/{session}/events")
    while not is_over(late.frames()):
        assert late.read(65536)
    assert merged(got) == merged(steady.frames()) == merged(late.frames())
    assert sum(frame.startswith(b"event: chunk") for frame in late.frames()) == 1  # folded when the turn was over
    for one in (line, steady, late):
        one.cut()


def test_hanging_up_stops_nothing_and_the_end_can_be_read_later(server: Serving) -> None:
    line = Line(server, "POST /api/chat/stream", json.dumps({"message": asked(40, 100), "runtime": NAME}))
    while not line.frames():
        assert line.read(100)
    session = json.loads(line.frames()[0].split(b"\n")[1].removeprefix(b"data: "))["session_id"]
    line.cut()
    with server.client.stream("GET", f"/api/sessions/{session}/events") as answer:
        for frame in frames(answer.iter_lines()):
            if frame.get("event") == "done":
                assert json.loads(frame["data"])["status"] == "completed"
                break


def test_a_turn_of_a_killed_server_is_ended_by_the_next_one(home: Path, packages: str) -> None:
    with Serving(home, PYTHONPATH=packages) as first:
        line = Line(first, "POST /api/chat/stream", json.dumps({"message": asked(1000, 50), "runtime": NAME}))
        while not any(frame.startswith(b"event: chunk") for frame in line.frames()):
            assert line.read(500)
        session = json.loads(line.frames()[0].split(b"\n")[1].removeprefix(b"data: "))["session_id"]
        seen = [frame for frame in line.frames() if not frame.startswith(b"event: chunk")]
        first.process.send_signal(signal.SIGKILL)
        first.process.communicate(timeout=20)
        line.cut()
    with Serving(home, PYTHONPATH=packages) as second:
        again = Line(second, f"GET /api/sessions/{session}/events")
        while not is_over(again.frames()):
            assert again.read(65536)
        assert again.frames()[: len(seen)] == seen  # the chunks are one by now
        assert sum(frame.startswith(b"event: chunk") for frame in again.frames()) == 1
        error, done = (json.loads(frame.split(b"\n")[1][6:]) for frame in again.frames()[-2:])
        assert (error["code"], done["status"]) == ("interrupted", "interrupted")
        go_on = {"message": asked(2), "session_id": session, "runtime": NAME}
        assert second.client.post("/api/chat/stream", json=go_on).status_code == 200
        again.cut()


def test_the_example_of_the_readme_works(server: Serving) -> None:
    found = re.search(r"^curl -N .*?(?<!\\)$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found
    command = found[0].replace("http://127.0.0.1:8790", server.address)
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, env={"TOKEN": server.token}, check=True
    )
    told = [frame for frame in frames(iter(done.stdout.split("\n"))) if "event" in frame]
    assert (told[0]["event"], told[-1]["event"]) == ("metadata", "done"), done.stdout + server.log()
    assert json.loads(told[-1]["data"])["status"] == "completed"
    assert any(frame["event"] == "chunk" for frame in told)


@pytest.fixture
def sdk(server: Serving) -> Iterator[Any]:
    with openai.OpenAI(base_url=f"{server.address}/v1", api_key=server.token, max_retries=0) as client:
        yield client


def test_the_openai_sdk_gets_answers_whole_and_in_pieces(sdk: Any) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": asked(5)}]
    whole = sdk.chat.completions.create(model=NAME, messages=messages)
    assert re.fullmatch(r"0 \d+ 1 \d+ 2 \d+ 3 \d+ 4 \d+ ", whole.choices[0].message.content)
    assert (whole.choices[0].finish_reason, whole.usage.completion_tokens) == ("stop", 5)
    stream = sdk.chat.completions.create(
        model=f"{NAME}/one", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    pieces = list(stream)
    text = "".join(one.choices[0].delta.content or "" for one in pieces if one.choices)
    assert text.split(" ")[::2] == ["0", "1", "2", "3", "4", ""]
    assert pieces[-1].usage.total_tokens > 0


def test_the_openai_sdk_continues_a_session_and_lists_models(sdk: Any, server: Serving) -> None:
    first = sdk.chat.completions.with_raw_response.create(model=NAME, messages=[{"role": "user", "content": asked(1)}])
    session = first.headers["x-sojourn-session"]
    sdk.chat.completions.create(
        model=NAME, messages=[{"role": "user", "content": asked(2)}], extra_headers={"X-Sojourn-Session": session}
    )
    assert server.get(f"/api/sessions/{session}").json()["message_count"] == 4
    assert {NAME, f"{NAME}/one", f"{NAME}/two"} <= {one.id for one in sdk.models.list()}


def test_the_openai_sdk_understands_our_errors(sdk: Any, server: Serving) -> None:
    hello = [{"role": "user", "content": "hello"}]
    with pytest.raises(openai.NotFoundError) as unknown:
        sdk.chat.completions.create(model="gpt-9", messages=hello)
    assert unknown.value.code == "not_found"
    with pytest.raises(openai.BadRequestError):
        sdk.chat.completions.create(model=NAME, messages=[{"role": "assistant", "content": "x"}])
    broken = [{"role": "user", "content": "{broken"}]
    with pytest.raises(openai.APIError, match="paced failed"):
        list(sdk.chat.completions.create(model=NAME, messages=broken, stream=True))
    stranger = sdk.with_options(api_key="wrong")
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()
