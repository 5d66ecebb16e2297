"""Translates errors of the agent library and of HTTP into Sojourn's errors."""

from __future__ import annotations

import json
from typing import NamedTuple

import httpx2
from pydantic_ai import exceptions as library

from sojourn.core.errors import (
    BadInput,
    ContextFull,
    KeyRefused,
    RateLimited,
    RuntimeFailed,
    RuntimeTimeout,
    RuntimeUnreachable,
    SojournError,
)
from sojourn.runtimes.models.selection import ModelChoice
from sojourn.text.ansi import strip_control

# What the library raises, and what its code raises on an answer that is valid JSON but no valid response.
FOREIGN = (
    library.AgentRunError,
    library.UserError,
    httpx2.HTTPError,
    TimeoutError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
)
_TRY_AGAIN = "Try again; if it keeps failing, use another model."


class _Translation(NamedTuple):
    """Our error for certain foreign ones; `{model}` and `{detail}` are filled in."""

    foreign: type[Exception] | tuple[type[Exception], ...]
    error: type[SojournError]
    message: str
    hint: str


_TIMEOUT = _Translation(
    TimeoutError,
    RuntimeTimeout,
    "{model} stopped answering.",
    "Try again. For slow models raise model.timeout_seconds.",
)
_TRANSLATIONS = (  # the first that fits
    _Translation(
        (library.ModelConnectionError, httpx2.TransportError),
        RuntimeUnreachable,
        "{model} cannot be reached, or the connection broke.",
        "Check that it is running, then try again.",
    ),
    _Translation(
        library.ModelAuthenticationError,
        KeyRefused,
        "{model} rejected the API key{detail}.",
        "Check model.api_key; `sojourn config` shows where it comes from.",
    ),
    _Translation(
        library.ModelQuotaExceededError,
        KeyRefused,
        "{model}: the account has no credit left{detail}.",
        "Add credit there, or use another model.",
    ),
    _Translation(
        library.ModelContextWindowExceededError,
        ContextFull,
        "The conversation is longer than {model} accepts{detail}.",
        "Start a new session, or attach less at once.",
    ),
    _Translation(
        (library.ModelRateLimitError, library.ModelUnavailableError),
        RateLimited,
        "{model} is busy{detail}.",
        "Wait a moment, then try again.",
    ),
    _Translation(
        library.ModelNotFoundError,
        RuntimeFailed,
        "{model} was not found{detail}.",
        "`/model` lists the models; model.name sets one.",
    ),
    _Translation(library.ModelServerError, RuntimeFailed, "{model} reported an internal error{detail}.", _TRY_AGAIN),
    _Translation(
        library.UserError,
        BadInput,
        "{model} cannot do this{detail}.",
        "Leave the attachment out, or use another model.",
    ),
    _Translation(library.ModelAPIError, RuntimeFailed, "{model} did not finish{detail}.", _TRY_AGAIN),
    _Translation(
        Exception,
        RuntimeFailed,
        "{model} sent an invalid response{detail}.",
        "Is model.base_url the address of a model server, with /v1?",
    ),
)


def to_error(error: Exception, choice: ModelChoice) -> SojournError:
    """Translates an error: what happened, with which model, and what to do."""
    found = _TIMEOUT if is_timeout(error) else next(row for row in _TRANSLATIONS if isinstance(error, row.foreign))
    return found.error(found.message.format(model=choice, detail=_provider_message(error, choice)), hint=found.hint)


def is_timeout(error: Exception) -> bool:
    """True when the server was reached and then fell silent; False when it was never reached."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, httpx2.ConnectTimeout):
            return False
        cause = cause.__cause__ or cause.__context__
    timeouts = (library.ModelTimeoutError, library.ModelRequestTimeout, TimeoutError, httpx2.TimeoutException)
    return isinstance(error, timeouts)


def _provider_message(error: Exception, choice: ModelChoice) -> str:
    """Returns the provider's own message on one short line, with the API key masked."""
    body = error.body if isinstance(error, library.ModelAPIError) else None
    inner = body.get("error", body) if isinstance(body, dict) else body
    message = inner.get("message") if isinstance(inner, dict) else inner
    status = f"HTTP {error.status_code}" if isinstance(error, library.ModelHTTPError) else ""
    if not message and not status:
        message = str(error)
    text = message if isinstance(message, str) else json.dumps(message, default=str) if message else ""
    line = strip_control(" ".join(text.split())).rstrip(".")[:300]
    if key := choice.key.reveal():
        line = line.replace(key, "•••")
    return f": {' '.join(filter(None, [status, line]))}" if line or status else ""
