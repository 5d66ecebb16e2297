"""Translates errors of the agent library and of HTTP into Sojourn's errors."""

from __future__ import annotations

import json
from dataclasses import dataclass

import httpx2
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UserError,
)

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
    AgentRunError,
    UserError,
    httpx2.HTTPError,
    TimeoutError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
)


@dataclass(frozen=True, slots=True)
class _ErrorText:
    """Class, message and hint for one kind of failure; `{model}` and `{said}` are filled in."""

    kind: type[SojournError]
    message: str
    hint: str


_TEXTS: tuple[tuple[tuple[type[Exception], ...], _ErrorText], ...] = (
    (
        (ModelAuthenticationError,),
        _ErrorText(
            KeyRefused,
            "{model} rejected the API key{said}.",
            "Check model.api_key; `sojourn config` shows where it comes from.",
        ),
    ),
    (
        (ModelQuotaExceededError,),
        _ErrorText(
            KeyRefused, "{model}: the account has no credit left{said}.", "Add credit there, or use another model."
        ),
    ),
    (
        (ModelContextWindowExceededError,),
        _ErrorText(
            ContextFull,
            "The conversation is longer than {model} accepts{said}.",
            "Start a new session, or attach less at once.",
        ),
    ),
    (
        (ModelRateLimitError, ModelUnavailableError),
        _ErrorText(RateLimited, "{model} is busy{said}.", "Wait a moment, then try again."),
    ),
    (
        (ModelNotFoundError,),
        _ErrorText(RuntimeFailed, "{model} was not found{said}.", "`/model` lists the models; model.name sets one."),
    ),
    (
        (ModelServerError,),
        _ErrorText(
            RuntimeFailed,
            "{model} reported an internal error{said}.",
            "Try again; if it keeps failing, use another model.",
        ),
    ),
    (
        (UserError,),
        _ErrorText(BadInput, "{model} cannot do this{said}.", "Leave the attachment out, or use another model."),
    ),
    (
        (ModelAPIError,),
        _ErrorText(
            RuntimeFailed, "{model} did not finish{said}.", "Try again; if it keeps failing, use another model."
        ),
    ),
)
_TIMEOUT = _ErrorText(
    RuntimeTimeout, "{model} stopped answering.", "Try again. For slow models raise model.timeout_seconds."
)
_UNREACHABLE = _ErrorText(
    RuntimeUnreachable,
    "{model} cannot be reached, or the connection broke.",
    "Check that it is running, then try again.",
)
_INVALID = _ErrorText(
    RuntimeFailed,
    "{model} sent an invalid response{said}.",
    "Is model.base_url the address of a model server, with /v1?",
)


def to_error(error: Exception, choice: ModelChoice) -> SojournError:
    """Translates an error: what happened, with which model, and what to do."""
    text = _text_for(error)
    return text.kind(text.message.format(model=choice, said=_provider_message(error, choice)), hint=text.hint)


def _text_for(error: Exception) -> _ErrorText:
    if is_timeout(error):
        return _TIMEOUT
    if isinstance(error, ModelConnectionError | httpx2.TransportError):
        return _UNREACHABLE
    return next((text for kinds, text in _TEXTS if isinstance(error, kinds)), _INVALID)


def is_timeout(error: Exception) -> bool:
    """True when the server was reached and then fell silent; False when it was never reached."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, httpx2.ConnectTimeout):
            return False
        cause = cause.__cause__ or cause.__context__
    return isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError | httpx2.TimeoutException)


def _provider_message(error: Exception, choice: ModelChoice) -> str:
    """Returns the provider's own message on one short line, with the API key masked."""
    body = error.body if isinstance(error, ModelAPIError) else None
    inner = body.get("error", body) if isinstance(body, dict) else body
    words = inner.get("message") if isinstance(inner, dict) else inner
    if not words and not isinstance(error, ModelHTTPError):
        words = str(error)
    status = f"HTTP {error.status_code}" if isinstance(error, ModelHTTPError) else ""
    text = words if isinstance(words, str) else json.dumps(words, default=str) if words else ""
    line = strip_control(" ".join(text.split())).rstrip(".")[:300]
    if key := choice.key.reveal():
        line = line.replace(key, "•••")
    return f": {' '.join(filter(None, [status, line]))}" if line or status else ""
