"""The secure address for phones: read strictly, and shown as a code that a camera reads."""

import pytest

from sojourn.core.errors import BadConfig
from sojourn.http.host_names import HostNames, parse_host
from sojourn.http.phone_address import describe_ways, parse_public_url, public_name


@pytest.mark.parametrize(
    ("text", "address", "name"),
    [
        ("", "", ""),
        ("https://laptop.tail1234.ts.net", "https://laptop.tail1234.ts.net", "laptop.tail1234.ts.net"),
        (" https://Laptop.example.org:443/ ", "https://laptop.example.org", "laptop.example.org"),
        ("https://laptop.local:8443", "https://laptop.local:8443", "laptop.local"),
        ("https://[fd00::1]:8443", "https://[fd00::1]:8443", "fd00::1"),
    ],
)
def test_a_secure_address_is_read(text, address, name):
    assert (parse_public_url(text), public_name(text)) == (address, name)


@pytest.mark.parametrize(
    "text",
    [
        "http://laptop.local",
        "laptop.local",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://me@a",
        "https://a:x",
        "ftp://a",
    ],
)
def test_any_other_address_is_refused(text):
    with pytest.raises(BadConfig):
        parse_public_url(text)


def test_the_server_answers_to_that_name_and_to_no_other():
    names = HostNames("127.0.0.1", "laptop.example.org")
    assert parse_host("laptop.example.org") in names
    assert parse_host("laptop.example.org:8443") in names
    assert parse_host("evil.example.org") not in names
    assert parse_host("laptop.example.org") not in HostNames("127.0.0.1")


def test_the_ways_to_a_secure_address_name_the_port():
    assert "tailscale serve --bg 8791" in describe_ways(8791)
