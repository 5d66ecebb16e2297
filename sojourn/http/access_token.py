"""The access token in force. Replacing it ends everything that came in with the old one."""

from __future__ import annotations

import asyncio
import hashlib
import hmac

from sojourn.http.guess_limit import GuessLimit


class AccessToken:
    """The token that clients must show."""

    def __init__(self, value: str) -> None:
        self._guesses = GuessLimit()
        self.replace(value)

    def replace(self, value: str) -> None:
        """From now on only this one counts."""
        self.value = value
        self.mark = build_token_mark(value)

    async def admits(self, shown: str, address: str) -> bool:
        """Whether this is the token; after many wrong ones from this address the answer takes longer."""
        if delay := self._guesses.find_delay(address):
            await asyncio.sleep(delay)
        if hmac.compare_digest(shown.encode(), self.value.encode()):
            return True
        self._guesses.record_failure(address, shown)
        return False


def build_token_mark(token: str) -> str:
    """What is kept of a token beside a browser session: it tells whether the token is still the same."""
    return hmac.new(token.encode(), b"sojourn browser sessions", hashlib.sha256).hexdigest()[:24]
