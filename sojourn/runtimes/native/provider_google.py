"""Google: builds the agent library's model, with Google's SDK behind it."""

from __future__ import annotations

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.providers.google import GoogleProvider

from sojourn.runtimes.models.selection import ModelChoice


def build_model(choice: ModelChoice, http: httpx2.AsyncClient, key: str) -> Model:
    """Builds the model. `key` is never empty: without one the SDK would read its own environment variables."""
    provider = GoogleProvider(api_key=key, base_url=choice.base_url, http_client=http)
    return GoogleModel(choice.name, provider=provider)
