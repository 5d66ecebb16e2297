"""Model factory: opens a client for a chosen model and loads the SDK of its provider alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import httpx2
from pydantic_ai.models import Model

from sojourn.lazy import Lazy
from sojourn.runtimes.models.selection import ModelChoice, Protocol
from sojourn.runtimes.native.model_client import ModelClient
from sojourn.runtimes.native.retry_policy import RetryPolicy

if TYPE_CHECKING:
    from sojourn.runtimes.native.provider_anthropic import build_model
    from sojourn.runtimes.native.provider_google import build_model  # noqa: F811
    from sojourn.runtimes.native.provider_openai import build_model  # noqa: F401,F811

BuildModel = Callable[[ModelChoice, httpx2.AsyncClient, str], Model]

NO_KEY = "no-key-needed"
# By name: each provider's SDK takes a second to import, and a turn needs one of them.
BUILDERS: Mapping[Protocol, Lazy[BuildModel]] = {
    "openai": Lazy("sojourn.runtimes.native.provider_openai:build_model"),
    "anthropic": Lazy("sojourn.runtimes.native.provider_anthropic:build_model"),
    "google": Lazy("sojourn.runtimes.native.provider_google:build_model"),
}


def open_client(
    load: Callable[[Lazy[Any]], Any],
    choice: ModelChoice,
    http: httpx2.AsyncClient,
    *,
    retries: int,
    first_wait: float,
    max_tokens: int,
) -> ModelClient:
    """Returns a client that talks to the chosen model through `http`."""
    build_model: BuildModel = load(BUILDERS[choice.provider.protocol])
    model = build_model(choice, http, choice.key.reveal() or NO_KEY)
    return ModelClient(model, choice, RetryPolicy(retries=retries, first_wait=first_wait), max_tokens=max_tokens)
