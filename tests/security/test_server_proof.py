"""A stale server.json whose port another program took over: that program never learns the token."""

import json
import os
import socket
import subprocess
import threading
from urllib.parse import urlsplit

import pytest

from sojourn.client.remote import RemoteService
from sojourn.core.errors import ServerUnreachable
from sojourn.ports.store import Listing
from sojourn.server_file import Server
from tests.e2e.http_server import PROGRAM, Serving

TOKEN = "a-token-that-must-not-leave-the-home-0123456789"


class FakeServer:
    """Listens where a server was, records every byte, and answers whatever it is asked as Sojourn might.

    relay: passes everything on to a real server and its answers back
    """

    def __init__(self, relay=None):
        self.heard, self._relay = b"", relay
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                line, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line):
        body = json.dumps({"version": "1", "state": "healthy", "proof": "0" * 64, "path": "/enter?key=x"}).encode()
        answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        with line:
            while part := line.recv(65536):
                self.heard += part
                line.sendall(self._pass_on(part) if self._relay else answer)

    def _pass_on(self, request):
        there = urlsplit(self._relay)
        with socket.create_connection((there.hostname, there.port)) as real:
            real.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            return b"".join(iter(lambda: real.recv(65536), b""))


def leave_stale_file(home, address):
    home.mkdir(mode=0o700, exist_ok=True)
    stale = {"address": address, "token": TOKEN, "pid": os.getpid(), "version": "1"}  # a pid that is taken again, too
    (home / "server.json").write_text(json.dumps(stale))


@pytest.mark.parametrize(
    "args",
    [
        ("chat", "-q", "hello"),
        ("dashboard", "--no-open", "--port", "0"),
        ("token", "show"),
        ("token", "rotate"),
        ("browsers",),
    ],
)
def test_a_program_that_took_over_the_port_never_hears_the_token(home, args):
    with FakeServer() as fake:
        leave_stale_file(home, fake.address)
        env = {**os.environ, "SOJOURN_RUNTIME": "offline", "SOJOURN_IDLE": "1", "SOJOURN_MODEL_DETECT": "no"}
        process = subprocess.Popen(
            [PROGRAM, "--home", home, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:  # `dashboard` serves until it is stopped
            process.terminate()
            process.communicate(timeout=20)
        assert TOKEN.encode() not in fake.heard
        assert b"Authorization" not in fake.heard
        assert b"GET /proof?nonce=" in fake.heard
        assert b"hello" not in fake.heard


async def test_a_client_sends_nothing_but_the_question_on_a_connection_without_proof():
    with FakeServer() as fake:
        service = RemoteService(Server(address=fake.address, token=TOKEN), patience=0.5)
        with pytest.raises(ServerUnreachable, match="did not prove"):
            await service.find(Listing())
        await service.close()
    assert fake.heard.count(b"GET ") == fake.heard.count(b"GET /proof?nonce=") > 0
    assert TOKEN.encode() not in fake.heard


async def test_a_proof_that_was_passed_on_from_another_port_does_not_count(home):
    with Serving(home, SOJOURN_TOKEN=TOKEN) as real, FakeServer(relay=real.address) as fake:
        service = RemoteService(Server(address=fake.address, token=TOKEN), patience=0.5)
        with pytest.raises(ServerUnreachable, match="did not prove"):
            await service.find(Listing())
        await service.close()
        assert b"GET /proof?nonce=" in fake.heard
        assert TOKEN.encode() not in fake.heard


async def test_our_own_server_is_recognised_on_every_connection(home):
    with Serving(home, SOJOURN_TOKEN=TOKEN) as real:
        service = RemoteService(Server(address=real.address, token=TOKEN), patience=0.5)
        assert await service.find(Listing()) == []
        await service.close()


async def test_a_running_client_goes_on_after_the_token_was_rotated(home):
    with Serving(home) as real:

        async def again():
            announced = json.loads((home / "server.json").read_text())
            return Server(address=announced["address"], token=announced["token"])

        service = RemoteService(Server(address=real.address, token=real.token), again, patience=5)
        assert await service.find(Listing()) == []
        subprocess.run([PROGRAM, "--home", home, "token", "rotate"], check=True, capture_output=True, timeout=60)
        assert await service.find(Listing()) == []
        await service.close()
