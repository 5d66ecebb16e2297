"""Host headers are read strictly, and browsers get an origin of their own."""

import pytest

from sojourn.http.host_names import Host, HostNames, is_loopback, parse_host
from sojourn.http.user_agent import describe_browser, resolves_localhost_names


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost", Host("localhost", 80)),
        ("LocalHost.:1", Host("localhost", 1)),
        ("[::1]:8790", Host("::1", 8790)),
        ("127.0.0.1:65535", Host("127.0.0.1", 65535)),
        ("box_1.lan", Host("box_1.lan", 80)),
    ],
)
def test_one_name_with_or_without_a_port_is_read(header, host):
    assert parse_host(header) == host


@pytest.mark.parametrize(
    "header", ["", "[::1].x", "[::1", "::1", "a,b", "a b", "u@a", "a:", "a:65536", "a:1x", "[x]", "a" * 300, "ä", "a/b"]
)
def test_anything_else_is_not(header):
    assert parse_host(header) is None


def test_a_server_for_others_answers_to_its_own_names():
    names = HostNames("box.lan")
    answered = ("box.lan", "192.0.2.7", "localhost", "sojourn.localhost")
    assert all(Host(name, 80) in names for name in answered)
    assert Host("evil.example", 80) not in names
    assert Host("192.0.2.7", 80) not in HostNames("127.0.0.1")


@pytest.mark.parametrize(
    ("host", "inside"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("box", False)],
)
def test_what_only_this_machine_can_reach(host, inside):
    assert is_loopback(host) is inside


@pytest.mark.parametrize(
    ("header", "said", "knows"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36", "Chrome on Linux", True),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows", True),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux", True),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18.0 Safari/605.1", "Safari on macOS", False),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone", False),
        ("<script>", "A browser", False),
    ],
)
def test_a_browser_is_described_in_our_own_words(header, said, knows):
    assert describe_browser(header) == said
    assert resolves_localhost_names(header) is knows
