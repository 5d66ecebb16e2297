"""Floods and slow clients against a real server: it goes on answering, and its log stays short."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from sojourn.http_limits import HEAD_SECONDS, MAX_HEAD_BYTES
from tests.e2e.http_server import Serving

HALF_OPEN = 1100  # connections
BEGINNING = b"GET /healthz HTTP/1.1\r\nHost: "


@contextmanager
def open_files(soft: int) -> Iterator[None]:
    """The limit of open files of this process, and of what it starts."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


def connect(server: Serving) -> socket.socket:
    url = urlsplit(server.address)
    return socket.create_connection((url.hostname, url.port), timeout=20)


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    pieces = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


def test_1100_half_open_connections_leave_a_server_with_1024_files_answering(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with open_files(1024):
            server = stack.enter_context(Serving(tmp_path))
        stack.enter_context(open_files(4096))
        for _ in range(HALF_OPEN):
            connection = stack.enter_context(connect(server))
            connection.send(BEGINNING)
        began = time.monotonic()
        assert httpx.get(f"{server.address}/healthz", timeout=10, trust_env=False).status_code == 200
        created = server.client.post("/api/sessions", json={"title": "still here"})
        assert created.status_code == 201, created.text
        assert time.monotonic() - began < 5
        assert len(server.log().splitlines()) < 20, server.log()[:2000]


def test_headers_that_never_end_are_cut_off(tmp_path: Path) -> None:
    with Serving(tmp_path) as server, connect(server) as slow:
        slow.send(BEGINNING)
        began = time.monotonic()
        slow.settimeout(1)
        while True:
            try:
                if not slow.recv(1):
                    break
            except TimeoutError:
                assert time.monotonic() - began < HEAD_SECONDS * 3, "a header may take for ever"
                slow.send(b"x")  # a byte a second: it is not silent
            except ConnectionError:
                break


def test_a_header_of_a_megabyte_is_refused(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        for head in (b"X-Long: " + b"a" * 1_000_000, b"\r\n".join(b"X-%d: a" % one for one in range(20_000))):
            with connect(server) as connection:
                try:
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
                except ConnectionError:
                    continue  # it hung up while we were sending
                got = answer(connection)
                assert got.startswith(b"HTTP/1.1 431") or not got, got[:200]
        assert MAX_HEAD_BYTES < 1_000_000
        assert server.get("/healthz").status_code == 200


def test_2000_broken_requests_do_not_fill_the_log(tmp_path: Path) -> None:
    with Serving(tmp_path) as server:
        for _ in range(2000):
            with connect(server) as connection:
                connection.send(b"\x16\x03\x01 not HTTP\r\n\r\n")
        assert server.get("/healthz").status_code == 200
        log = server.log() + (tmp_path / "logs" / "sojourn.log").read_text()
        assert len(log.splitlines()) < 60, f"{len(log.splitlines())} lines"
        assert "more like it" in log  # what is left out is said


def test_one_visitor_cannot_hold_every_stream(tmp_path: Path) -> None:
    with Serving(tmp_path) as server, ExitStack() as stack:
        client = stack.enter_context(
            httpx.Client(
                base_url=server.address,
                headers={"Authorization": f"Bearer {server.token}"},
                limits=httpx.Limits(max_connections=None),
                timeout=20,
                trust_env=False,
            )
        )
        refused: httpx.Response | None = None
        for _ in range(400):
            found = stack.enter_context(client.stream("GET", "/api/changes"))
            if found.status_code != 200:
                refused = found
                break
        assert refused is not None, "400 streams of one visitor were accepted"
        assert refused.status_code == 429
        problem = httpx.Response(429, content=refused.read()).json()
        assert problem["code"] == "rate_limited"
        assert problem["hint"]
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/api/sessions", "/v1/chat/completions"])
def test_a_body_that_never_comes_does_not_hold_the_connection(tmp_path: Path, path: str) -> None:
    """Without a token the answer is there at once, and the rest of the body is not waited for."""
    with Serving(tmp_path) as server, connect(server) as slow:
        slow.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n".encode())
        began = time.monotonic()
        slow.settimeout(1)
        got = b""
        while time.monotonic() - began < HEAD_SECONDS * 3:
            try:
                if not (piece := slow.recv(4096)):
                    break
                got += piece
            except TimeoutError:
                slow.send(b"x")
            except ConnectionError:
                break
        else:
            pytest.fail("the connection stays open for a body that trickles")
        assert got.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403")), got[:100]
