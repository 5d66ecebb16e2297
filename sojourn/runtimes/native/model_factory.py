"""Model factory: opens a client for a chosen model and loads the SDK of its provider alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import httpx2
from pydantic_ai.models import Model

from sojourn.runtimes.models.selection import ModelChoice, Protocol
from sojourn.runtimes.native.model_client import ModelClient
from sojourn.runtimes.native.retry_policy import RetryPolicy

NO_KEY = "no-key-needed"
# By name: each provider's SDK takes a second to import, and a turn needs one of them.
BUILDERS: Mapping[Protocol, str] = {
    "openai": "sojourn.runtimes.native.provider_openai:build_model",
    "anthropic": "sojourn.runtimes.native.provider_anthropic:build_model",
    "google": "sojourn.runtimes.native.provider_google:build_model",
}


def open_client(
    load: Callable[[str], object],
    choice: ModelChoice,
    http: httpx2.AsyncClient,
    *,
    retries: int,
    first_wait: float,
    max_tokens: int,
) -> ModelClient:
    """Returns a client that talks to the chosen model through `http`."""
    build_model: Callable[[ModelChoice, httpx2.AsyncClient, str], Model]
    build_model = load(BUILDERS[choice.provider.protocol])  # type: ignore[assignment]
    model = build_model(choice, http, choice.key.reveal() or NO_KEY)
    return ModelClient(model, choice, RetryPolicy(retries=retries, first_wait=first_wait), max_tokens=max_tokens)
