"""Anthropic: builds the agent library's model, with Anthropic's SDK behind it."""

from __future__ import annotations

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from sojourn.runtimes.models.selection import ModelChoice


def build_model(choice: ModelChoice, http: httpx2.AsyncClient, key: str) -> Model:
    """Builds the model. `key` is never empty: without one the SDK would read its own environment variables."""
    provider = AnthropicProvider(api_key=key, base_url=choice.base_url.removesuffix("/v1"), http_client=http)
    return AnthropicModel(choice.name, provider=provider)
