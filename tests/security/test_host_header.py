"""A Host header that is not exactly one plain name of this server is refused, below any client library."""

import socket
from urllib.parse import urlsplit

import pytest

from tests.e2e.http_server import Serving

MALFORMED = [
    "[::1].evil.example",
    "[::1]evil.example",
    "[::1]:8790.evil.example",
    "[127.0.0.1",
    "127.0.0.1]",
    "localhost, evil.example",
    "evil.example, localhost",
    "localhost evil.example",
    "owner@localhost",
    "evil.example@localhost:8790",
    "localhost:8790@evil.example",
    "localhost:",
    "localhost:x",
    "localhost:123456",
    "localhost/evil.example",
    "localhost#evil.example",
    "localhost\\evil.example",
    "..localhost",
    "-localhost",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "127.0.0.1%25evil",
    "[::1%25lo]",
    "",
]
FOREIGN = ["evil.example", "localhost.evil.example", "evil.localhost", "127.0.0.1.nip.io", "192.0.2.7", "[2001:db8::1]"]
OURS = [
    "127.0.0.1:{port}",
    "localhost:{port}",
    "localhost",
    "[::1]:{port}",
    "sojourn.localhost:{port}",
    "SOJOURN.LOCALHOST",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("home") / ".sojourn") as running:
        yield running


def ask(server, *hosts):
    """The status of a request for the sessions, with the token and these Host headers as they are."""
    place = urlsplit(server.address)
    head = ["GET /api/sessions HTTP/1.1", *(f"Host: {one}" for one in hosts), f"Authorization: Bearer {server.token}"]
    with socket.create_connection((place.hostname, place.port), timeout=10) as line:
        line.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1"))
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("host", [*MALFORMED, *FOREIGN])
def test_a_malformed_or_foreign_host_is_refused(server, host):
    assert ask(server, host) in (400, 421)


@pytest.mark.parametrize("hosts", [("localhost", "evil.example"), ("localhost", "localhost"), ()])
def test_two_host_headers_or_none_are_refused(server, hosts):
    assert ask(server, *hosts) in (400, 421)


@pytest.mark.parametrize("host", OURS)
def test_our_own_names_are_answered(server, host):
    assert ask(server, host.format(port=urlsplit(server.address).port)) == 200


def test_the_name_that_was_configured_is_answered(home):
    with Serving(home, "--host", "localhost") as server:
        assert ask(server, "localhost") == 200
        assert ask(server, "evil.example") == 421
