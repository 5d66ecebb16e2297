"""From a choice to the agent library's model. Keys are always given: the library shall not look for others."""

from __future__ import annotations

import httpx2
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from sojourn.runtimes.models.choice import PROVIDERS, Choice

NO_KEY = "no-key-needed"


def build(choice: Choice, http: httpx2.AsyncClient) -> Model:
    """The model, talking through our own connections."""
    key = choice.key.reveal() or NO_KEY
    if choice.provider.protocol == "anthropic":
        anthropic = AnthropicProvider(api_key=key, base_url=choice.base_url.removesuffix("/v1"), http_client=http)
        return AnthropicModel(choice.name, provider=anthropic)
    if choice.provider.protocol == "google":
        return GoogleModel(
            choice.name, provider=GoogleProvider(api_key=key, base_url=choice.base_url, http_client=http)
        )
    if choice.base_url == PROVIDERS["openai"].base_url:
        return OpenAIChatModel(
            choice.name, provider=OpenAIProvider(api_key=key, base_url=choice.base_url, http_client=http)
        )
    # By its own name: a model somewhere else that is called like one of OpenAI's does not cost what that costs.
    compatible = OpenAICompatibleProvider(choice.provider.name, base_url=choice.base_url, api_key=key, http_client=http)
    return OpenAIChatModel(choice.name, provider=compatible)
