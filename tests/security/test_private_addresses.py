"""web_fetch reaches nothing of this machine and its networks, whatever form its address has."""

import asyncio
import ipaddress
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sojourn.tools.public_addresses import is_public
from tests.integration.tools.tool_workspace import call, open_kit, room_in

PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.8.8.8",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.10",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[::127.0.0.1]",
    "[::8.8.8.8]",
    "[::ffff:127.0.0.1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a00:1]",
    "[64:ff9b::192.0.0.8]",
    "[64:ff9b:1::8.8.8.8]",
    "[64:ff9b:1:ffff::1]",
    "[100::1]",
    "[100:0:0:1::1]",
    "[2001::1]",
    "[2001:0:7f00:1::]",
    "[2001:2::1]",
    "[2001:10::1]",
    "[2001:20::1]",
    "[2001:1ff::1]",
    "[2001:db8::1]",
    "[2002:7f00:1::1]",
    "[2002:808:808::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[fec0::1]",
    "[ff02::1]",
    "[4000::1]",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "localhost",
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "192.0.1.1",
    "100.128.0.1",
    "172.32.0.1",
    "2606:4700::1111",
    "2a00:1450::1",
    "2001:4860::8888",
]
PUBLIC += ["::ffff:8.8.8.8", "64:ff9b::808:808"]


class Listener(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        self.send_response(302 if self.path.startswith("/to?") else 200)
        if self.path.startswith("/to?"):
            self.send_header("Location", self.path.partition("?")[2])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def listener():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("host", PRIVATE)
async def test_private_address_is_not_reached(tmp_path, listener, host):
    async with open_kit() as kit:
        told = await call(kit, await room_in(kit, tmp_path), "web_fetch", url=f"http://{host}:{listener.server_port}/")
    assert not told.ok
    assert told.facts["error"] == "not_allowed", told.text
    assert listener.seen == []


@pytest.mark.parametrize("host", ["10.0.0.1", "192.0.0.9", "[64:ff9b:1::1]", "[2002:808:808::1]"])
async def test_redirect_to_a_private_address_is_not_followed(tmp_path, listener, host):
    address = f"http://127.0.0.1:{listener.server_port}/to?http://{host}/"
    async with open_kit(**{"tools.private_hosts": "127.0.0.1"}) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "web_fetch", url=address)
    assert told.facts["error"] == "not_allowed"


@pytest.mark.parametrize(
    "answers", [["8.8.8.8", "127.0.0.1"], ["8.8.8.8, 127.0.0.1"]], ids=["one after the other", "both"]
)
async def test_name_that_changes_its_address_reaches_nothing_private(tmp_path, listener, monkeypatch, answers):
    """A name server that answers differently the second time: what was judged is what is connected to."""
    asked, loop = list[str](), asyncio.get_running_loop()

    async def look_up(host, port, **_):
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1].split(", ")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]

    monkeypatch.setattr(loop, "getaddrinfo", look_up)
    url = f"http://rebind.example:{listener.server_port}/"
    async with open_kit(**{"tools.seconds": 1}) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "web_fetch", url=url)
    assert not told.ok
    assert listener.seen == []
    assert asked.count("rebind.example") == 1


def test_public_addresses_are_public():
    assert [one for one in PUBLIC if not is_public(ipaddress.ip_address(one))] == []
