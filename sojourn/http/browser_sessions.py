"""Browser sessions: kept as records of the store until they expire, are signed out, or the token is rotated.

A session has two halves. The cookie reaches every port of its host; the page key lies in the storage of one origin and
comes as a header. The store has a hash of both together with the origin, so neither half is worth anything alone.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from typing import Any

from sojourn.core.errors import Ambiguous, NotFound, SojournError
from sojourn.http.host_names import Host
from sojourn.ports.store import Record, RecordStore

KIND = "browser_session"
PAGE_KEY_HEADER = b"sojourn-page-key"
SESSION_SECONDS = 30 * 86_400
_CLOCK_SECONDS = 86_400.0  # how far back a clock may be set without ending every session
_SEEN_SECONDS = 300.0  # how exact "last seen" is
_ID_CHARS = 12
_PAGE_ROWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """A browser that is signed in."""

    id: str
    browser: str  # for example "Firefox on Linux"
    address: str  # from where it signed in
    since: float
    last_seen: float
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What a browser gets: the cookie as a header, and the key that its page keeps."""

    cookie: str
    page_key: str


class BrowserSessions:
    """The signed-in browsers of one token.

    records: opens the store; it may raise when the store cannot be used
    mark: what is kept of the token (`access_token.build_token_mark`), as it is now
    """

    def __init__(
        self, records: Callable[[], RecordStore], mark: Callable[[], str], clock: Callable[[], float] = time.time
    ) -> None:
        self._records, self._mark, self._clock = records, mark, clock

    async def sign_in(self, host: Host, *, browser: str, address: str) -> SignedIn:
        await self._delete_expired()
        cookie, page_key, now = secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock()
        value = {"browser": browser, "address": address, "mark": self._mark(), "seen": now, "since": now}
        record = Record(kind=KIND, key=_hash(cookie, page_key, host), value=value | {"until": now + SESSION_SECONDS})
        await self._records().put_record(record, expect=0)
        header = f"{_cookie_name(host)}={cookie}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}"
        return SignedIn(cookie=header, page_key=page_key)

    async def find(self, cookies: str, page_key: str, host: Host) -> BrowserSession | None:
        """The session of a request; None unless both halves are there and belong to this origin."""
        try:
            cookie = SimpleCookie(cookies).get(_cookie_name(host))
        except CookieError:
            return None
        if cookie is None or not cookie.value or not page_key:
            return None
        record = await self._records().get_record(KIND, _hash(cookie.value, page_key, host))
        if record is None or not self._is_alive(record):
            if record is not None:  # so that it stays over when the clock goes back
                await self._delete_expired()
            return None
        session, now = _to_session(record), self._clock()
        if abs(now - session.last_seen) > _SEEN_SECONDS:
            seen = replace(record, value={**_to_dict(record), "seen": now})
            with suppress(SojournError):  # another request was first, it was signed out, or the store is read-only
                await self._records().put_record(seen, expect=record.revision)
        return session

    async def is_signed_in(self, id: str) -> bool:
        found = await self._records().list_records(KIND, prefix=id, limit=1)
        return bool(found) and self._is_alive(found[0])

    async def list_sessions(self) -> list[BrowserSession]:
        """Those that are signed in now, the one seen last first."""
        alive = [_to_session(one) for one in await self._list_records() if self._is_alive(one)]
        return sorted(alive, key=lambda one: -one.last_seen)

    async def sign_out(self, id: str) -> None:
        """Ends one session, by its id or a unique beginning of it. NotFound, Ambiguous."""
        found = [one for one in await self._list_records(prefix=id) if self._is_alive(one)] if id else []
        if len(found) != 1:
            hint = "`sojourn browsers` lists those that are signed in."
            if found:
                raise Ambiguous(f'{len(found)} browsers begin with "{id}".', hint=hint)
            raise NotFound(f'No browser "{id}" is signed in.', hint=hint)
        await self._records().delete_record(KIND, found[0].key)

    async def sign_out_all(self) -> int:
        found = [one for one in await self._list_records() if self._is_alive(one)]
        for one in found:
            await self._records().delete_record(KIND, one.key)
        return len(found)

    def expired_cookie(self, host: Host) -> str:
        """The header that makes a browser forget the cookie."""
        return f"{_cookie_name(host)}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"

    def _is_alive(self, record: Record) -> bool:
        value = _to_dict(record)
        is_in_time = 0 < value["until"] - self._clock() <= SESSION_SECONDS + _CLOCK_SECONDS
        return is_in_time and bool(value["mark"] == self._mark())

    async def _list_records(self, prefix: str = "") -> list[Record]:
        found: list[Record] = []
        while page := await self._records().list_records(
            KIND, prefix=prefix, after=found[-1].key if found else "", limit=_PAGE_ROWS
        ):
            found += page
        return found

    async def _delete_expired(self) -> None:
        for one in await self._list_records():
            if _to_dict(one)["until"] <= self._clock():
                with suppress(SojournError):  # the store is read-only
                    await self._records().delete_record(KIND, one.key)


def _to_dict(record: Record) -> dict[str, Any]:
    assert isinstance(record.value, dict)
    return record.value


def _to_session(record: Record) -> BrowserSession:
    value = _to_dict(record)
    return BrowserSession(
        id=record.key[:_ID_CHARS],
        browser=value["browser"],
        address=value["address"],
        since=value["since"],
        last_seen=value["seen"],
        until=value["until"],
    )


def _hash(cookie: str, page_key: str, host: Host) -> str:
    return hashlib.sha256(f"{cookie}\n{page_key}\n{host.name}\n{host.port}".encode()).hexdigest()


def _cookie_name(host: Host) -> str:
    """The port is in its name: browsers send cookies to every port, and two servers must not replace each other's."""
    return f"sojourn-{host.port}"
