"""What can go wrong between us and a model, in our words; and what is worth another try."""

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
from sojourn.runtimes.models.choice import Choice
from sojourn.text.ansi import strip_control

# What the library raises; and, when a server answers nonsense that is valid JSON, what its insides raise.
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
_PASSING = (ModelRateLimitError, ModelUnavailableError, ModelServerError, ModelConnectionError, httpx2.ConnectError)


@dataclass(frozen=True, slots=True)
class _Words:
    """What is said about one kind of failure; `{model}` and `{said}` are filled in."""

    kind: type[SojournError]
    message: str
    hint: str


_KNOWN: tuple[tuple[tuple[type[Exception], ...], _Words], ...] = (
    (
        (ModelAuthenticationError,),
        _Words(
            KeyRefused,
            "{model} does not take the key{said}.",
            "Check model.api_key; `sojourn config` shows where it comes from.",
        ),
    ),
    (
        (ModelQuotaExceededError,),
        _Words(
            KeyRefused,
            "{model}: the account behind the key has nothing left{said}.",
            "Add credit there, or use another model.",
        ),
    ),
    (
        (ModelContextWindowExceededError,),
        _Words(
            ContextFull, "This is more than {model} can take{said}.", "Start a new session, or attach less at once."
        ),
    ),
    (
        (ModelRateLimitError, ModelUnavailableError),
        _Words(RateLimited, "{model} is busy{said}.", "Wait a little and say it again."),
    ),
    (
        (ModelNotFoundError,),
        _Words(RuntimeFailed, "{model} is not there{said}.", "`/model` lists what there is; model.name sets it."),
    ),
    (
        (ModelServerError,),
        _Words(
            RuntimeFailed, "{model} has a problem of its own{said}.", "Say it again; if it stays so, try another model."
        ),
    ),
    (
        (UserError,),
        _Words(BadInput, "{model} cannot do this{said}.", "Leave the attachment out, or use another model."),
    ),
    (
        (ModelAPIError,),
        _Words(RuntimeFailed, "{model} did not finish{said}.", "Say it again; if it stays so, try another model."),
    ),
)
_SILENT = _Words(
    RuntimeTimeout, "{model} does not answer any more.", "Say it again. For slow models raise model.timeout_seconds."
)
_BROKEN = _Words(
    RuntimeUnreachable, "Nothing answers at {model}, or the line broke.", "Check that it runs, then say it again."
)
_GARBAGE = _Words(
    RuntimeFailed,
    "{model} answered something that is not an answer{said}.",
    "Is model.base_url the address of a model server, with /v1?",
)


def told(error: Exception, choice: Choice) -> SojournError:
    """The error for a person: what happened, with which model, and what to do."""
    words = _words(error)
    return words.kind(words.message.format(model=choice, said=_said(error, choice)), hint=words.hint)


def _words(error: Exception) -> _Words:
    if timed_out(error):
        return _SILENT
    if isinstance(error, ModelConnectionError | httpx2.TransportError):
        return _BROKEN
    return next((words for kinds, words in _KNOWN if isinstance(error, kinds)), _GARBAGE)


def timed_out(error: Exception) -> bool:
    """It was there and fell silent. Not having reached it at all is something else."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, httpx2.ConnectTimeout):
            return False
        cause = cause.__cause__ or cause.__context__
    return isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError | httpx2.TimeoutException)


def _said(error: Exception, choice: Choice) -> str:
    """The provider's own words on one short line, without our key in them."""
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


def may_pass(error: Exception) -> bool:
    """Whether the same request may work in a moment."""
    return isinstance(error, _PASSING) and not isinstance(error, ModelQuotaExceededError) and not timed_out(error)


def asked_to_wait(error: Exception) -> float | None:
    """The seconds the provider wants us to wait, if it said."""
    return error.retry_after if isinstance(error, ModelAPIError) else None
