"""Which hosts a person's words name."""

import pytest

from sojourn.core.provenance import Provenance
from sojourn.text.host_names import find_hosts


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Look at https://Example.org/a?b=c.", ["example.org"]),
        ("Look at example.org, and at docs.example.org!", ["example.org", "docs.example.org"]),
        ("http://[::1]:80/ and http://127.0.0.1:8080/x", ["::1", "127.0.0.1"]),
        ("Siehe bücher.example", ["xn--bcher-kva.example"]),
        ("write to ann@example.org", []),
        ("run main.py, then read notes/README.md and a.b()", []),
        ("https://readme.md/x", ["readme.md"]),
        ("https://user@evil.example/", ["user"]),  # not what comes behind the sign
        ("", []),
    ],
)
def test_hosts_that_a_text_names(text, hosts):
    assert find_hosts(text) == hosts


def test_www_makes_no_difference_but_another_sub_domain_does():
    known = Provenance().add_hosts(["example.org", "www.second.example"])
    assert known.has_named("www.example.org")
    assert known.has_named("second.example")
    assert not known.has_named("a.example.org")
