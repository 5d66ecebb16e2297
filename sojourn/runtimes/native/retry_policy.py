"""Retry policy for model requests: which errors are retried, how often, and how long to wait before."""

from __future__ import annotations

import random
from dataclasses import dataclass

import httpx2
from pydantic_ai import exceptions as library

from sojourn.runtimes.native.errors import is_timeout

MAX_WAIT_SECONDS = 60.0  # a provider that asks for more is treated as unavailable for this turn
MAX_BACKOFF_SECONDS = 30.0
_TRANSIENT = (
    library.ModelRateLimitError,
    library.ModelUnavailableError,
    library.ModelServerError,
    library.ModelConnectionError,
    httpx2.ConnectError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential back-off with jitter; a wait that the provider asks for wins."""

    retries: int = 4
    first_wait: float = 1.0  # seconds; doubled with each attempt

    def delay_before_retry(self, attempt: int, error: Exception) -> float | None:
        """Returns the seconds to wait before attempt `attempt + 1`; None when the request is not retried."""
        if attempt > self.retries or not is_retryable(error):
            return None
        requested = error.retry_after if isinstance(error, library.ModelAPIError) else None
        delay = self._backoff(attempt) if requested is None else max(0.0, requested)
        return delay if delay <= MAX_WAIT_SECONDS else None

    def _backoff(self, attempt: int) -> float:
        doubled = float(self.first_wait * 2 ** (attempt - 1))
        return min(MAX_BACKOFF_SECONDS, doubled) * random.uniform(0.8, 1.2)


def is_retryable(error: Exception) -> bool:
    """True when the same request may succeed in a moment."""
    if isinstance(error, library.ModelQuotaExceededError) or is_timeout(error):
        return False
    return isinstance(error, _TRANSIENT)
