"""Guess limit: slows down an address that tries one wrong token after another. Nobody is ever locked out.

Right and wrong tokens wait equally long, so that the time of an answer says nothing; a wrong one that comes again, such
as a script with an old token, is no new guess.
"""

from __future__ import annotations

import hashlib
import ipaddress
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

FREE_COUNT = 10  # wrong tokens that cost nothing
MAX_DELAY_SECONDS = 2.0
_FIRST_DELAY_SECONDS, _HALF_LIFE_SECONDS = 0.05, 60.0
_MAX_ADDRESS_COUNT, _MAX_SEEN_COUNT = 1000, 64


@dataclass(slots=True)
class _Guesses:
    count: float = 0.0
    at: float = 0.0
    seen: deque[bytes] = field(default_factory=lambda: deque(maxlen=_MAX_SEEN_COUNT))


class GuessLimit:
    """Counts the wrong tokens of each address; the count halves every minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[str, _Guesses] = OrderedDict()

    def find_delay(self, address: str) -> float:
        """How long the next answer to this address has to wait, in seconds."""
        known = self._known.get(_to_network(address))
        excess = self._decay(known) - FREE_COUNT if known else 0.0
        return min(MAX_DELAY_SECONDS, _FIRST_DELAY_SECONDS * 2.0 ** min(excess, 10.0)) if excess > 0 else 0.0

    def record_failure(self, address: str, shown: str) -> None:
        network, digest = _to_network(address), hashlib.sha256(shown.encode()).digest()
        known = self._known.setdefault(network, _Guesses())
        self._known.move_to_end(network)
        if len(self._known) > _MAX_ADDRESS_COUNT:
            self._known.popitem(last=False)
        if digest not in known.seen:
            known.seen.append(digest)
            known.count, known.at = self._decay(known) + 1, self._clock()

    def _decay(self, known: _Guesses) -> float:
        age = max(0.0, self._clock() - known.at)
        return float(known.count * 0.5 ** (age / _HALF_LIFE_SECONDS))


def _to_network(address: str) -> str:
    """A whole /64 counts as one address: whoever has one of its addresses has all of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)
