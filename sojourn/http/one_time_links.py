"""One-time links: a key that opens the dashboard in a browser once. Keys live in memory only."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

LINK_SECONDS = 3600.0  # a link that nobody followed
_MAX_LINK_COUNT = 100


class OneTimeLinks:
    """The keys of links that were made and not followed yet."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def new_key(self) -> str:
        """A key for a link that works once, within an hour."""
        key, now = secrets.token_urlsafe(32), self._clock()
        alive = [(old, until) for old, until in self._until.items() if until > now]
        self._until = dict(alive[-_MAX_LINK_COUNT + 1 :]) | {key: now + LINK_SECONDS}
        return key

    def redeem(self, key: str) -> bool:
        """Uses up a key; False if it was not valid."""
        return self._until.pop(key, 0.0) > self._clock()

    def clear(self) -> None:
        self._until.clear()
