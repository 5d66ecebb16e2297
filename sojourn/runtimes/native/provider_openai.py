"""OpenAI and OpenAI-compatible servers: builds the agent library's model, with OpenAI's SDK behind it."""

from __future__ import annotations

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from sojourn.runtimes.models.selection import PROVIDERS, ModelChoice


def build_model(choice: ModelChoice, http: httpx2.AsyncClient, key: str) -> Model:
    """Builds the model. `key` is never empty: without one the SDK would read its own environment variables."""
    if choice.base_url == PROVIDERS["openai"].base_url:
        provider = OpenAIProvider(api_key=key, base_url=choice.base_url, http_client=http)
        return OpenAIChatModel(choice.name, provider=provider)
    # Under its own provider name: a model elsewhere that is named like one of OpenAI's has another price.
    compatible = OpenAICompatibleProvider(choice.provider.name, base_url=choice.base_url, api_key=key, http_client=http)
    return OpenAIChatModel(choice.name, provider=compatible)
