"""Browser sessions: a one-time link, or the token itself, becomes a signed cookie. Nothing is stored on disk."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

LINK_SECONDS = 3600.0  # a link that nobody followed
VISIT_SECONDS = 30 * 86_400  # a cookie, as long as the token stays the same
_MAX_LINK_COUNT = 100


class BrowserSessions:
    """Keys of one-time links, and cookies. A cookie is signed with the token, so a new token ends every session."""

    def __init__(self, token: str, clock: Callable[[], float] = time.time) -> None:
        self._token, self._clock = token.encode(), clock
        self._links: dict[str, float] = {}
        self._lock = threading.Lock()

    def new_key(self) -> str:
        """A key for a link that works once, within an hour."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            now = self._clock()
            alive = [(old, until) for old, until in self._links.items() if until > now]
            self._links = dict(alive[-_MAX_LINK_COUNT + 1 :])
            self._links[key] = now + LINK_SECONDS
        return key

    def redeem(self, key: str) -> bool:
        """Uses up a key; False if it was not valid."""
        with self._lock:
            return self._links.pop(key, 0.0) > self._clock()

    def has_token(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode(), self._token)

    def cookie(self, host: str) -> str:
        """The header that signs a browser in. The port is in its name: browsers send cookies to every port."""
        until = int(self._clock()) + VISIT_SECONDS
        value = f"{until}.{self._sign(until, host)}"
        return f"{_name(host)}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={VISIT_SECONDS}"

    def expired_cookie(self, host: str) -> str:
        """The header that makes a browser forget the cookie."""
        return f"{_name(host)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

    def accepts(self, cookies: str, host: str) -> bool:
        """Whether one of these cookies was made here, for this address, and has not expired."""
        try:
            found = SimpleCookie(cookies).get(_name(host))
        except CookieError:
            return False
        until, _, signed = (found.value if found else "").partition(".")
        if not until.isascii() or not until.isdigit() or len(until) > 12:
            return False
        return int(until) > self._clock() and hmac.compare_digest(
            signed.encode(), self._sign(int(until), host).encode()
        )

    def _sign(self, until: int, host: str) -> str:
        return hmac.new(self._token, f"visit {until} {_port(host)}".encode(), hashlib.sha256).hexdigest()


def _port(host: str) -> str:
    last = host.rpartition(":")[2]
    return last if ":" in host and last.isdigit() else "80"


def _name(host: str) -> str:
    return f"sojourn-{_port(host)}"
