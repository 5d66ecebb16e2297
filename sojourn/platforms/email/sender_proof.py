"""The proof of a sender: the one address in `From`, and whether the trusted server confirms its domain (DMARC)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email import policy
from email.errors import HeaderParseError
from email.headerregistry import AddressHeader

from sojourn.platforms.email.auth_results import AuthResults, parse_auth_results

_MAX_HEADER_CHARS, _MAX_FROM_CHARS = 10_000, 2_000
# A quoted text or a comment; its last quote or bracket is a group, which is missing where it never ends.
_QUOTED_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(")?|\((?:[^()\\]|\\.)*+(\))?', re.DOTALL)
_LOWER = {ord(one): one.lower() for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}  # no other letters: K (Kelvin) is no k


def parse_from(headers: Sequence[str]) -> tuple[str, str] | None:
    """The address and the name in `From`. None if there is not exactly one header with exactly one address."""
    if len(headers) != 1 or len(headers[0]) > _MAX_FROM_CHARS:
        return None
    rest = _QUOTED_OR_COMMENT.sub(lambda hit: "" if hit[1] or hit[2] else hit[0], headers[0])
    if rest.count("@") != 1:  # a second address, however it is disguised
        return None
    try:
        header = policy.default.header_factory("From", " ".join(headers[0].splitlines()))
    except (
        HeaderParseError,
        ValueError,
        IndexError,
        AttributeError,
        RecursionError,
    ):  # its parser fails on some nonsense
        return None
    if not isinstance(header, AddressHeader) or len(header.addresses) != 1:
        return None
    [one] = header.addresses
    spec = one.addr_spec
    if not one.username or not one.domain or not spec.isascii() or not spec.isprintable() or " " in spec:
        return None  # other letters may be lost on the way here, and two people become one
    return spec.translate(_LOWER), one.display_name


def is_confirmed(address: str, headers: Sequence[str], server: str) -> bool:
    """Whether the server confirms the domain of an address.

    headers: Authentication-Results, topmost first; those below the server's own may be forged, and are not read.
    """
    found = _find_results(headers, server)
    if found is None or found.version != "1":
        return False
    results = [one for one in found.results if one.method == "dmarc"]
    domains = {value for one in results for name, value in one.properties if name == "header.from"}
    has_passed = bool(results) and all(one.result == "pass" for one in results)
    return has_passed and {_to_domain(one) for one in domains} == {_to_domain(address)} != {""}


def _find_results(headers: Sequence[str], server: str) -> AuthResults | None:
    """The topmost header of the server. None as well if one above it cannot be read: it may be the server's."""
    for text in headers:
        found = parse_auth_results(text) if len(text) <= _MAX_HEADER_CHARS else None
        if found is None or found.server.translate(_LOWER) == server.translate(_LOWER):
            return found
    return None


def _to_domain(address: str) -> str:
    """The domain of an address, or of itself, in lower-case ASCII; "" if it is none."""
    try:
        return address.rpartition("@")[2].encode("idna").decode("ascii").translate(_LOWER).rstrip(".")
    except UnicodeError:
        return ""
