"""Lists the models of a provider, which also shows whether it accepts the API key."""

from __future__ import annotations

from typing import Any

import httpx2

from sojourn.core.errors import KeyRefused, RuntimeFailed, RuntimeUnreachable
from sojourn.runtimes.models.selection import ModelChoice

_TIMEOUT = httpx2.Timeout(1.5, connect=1.0)


async def list_models(client: httpx2.AsyncClient, choice: ModelChoice) -> tuple[str, ...]:
    """Returns the names in the provider's order. RuntimeUnreachable, KeyRefused, RuntimeFailed."""
    url, headers = _list_request(choice)
    try:
        answer = await client.get(url, headers=headers, timeout=_TIMEOUT)
    except httpx2.HTTPError as error:
        raise RuntimeUnreachable(
            f"Nothing answers at {choice.origin} ({choice.provider.label}).",
            hint="Start it, or check model.base_url." if choice.is_local else "Check the network and model.base_url.",
        ) from error
    if answer.status_code in (401, 403):
        raise KeyRefused(f"{choice.provider.label} rejected the API key.", hint="Check model.api_key.")
    if answer.status_code != 200:
        raise RuntimeFailed(
            f"{choice.provider.label} does not list its models (HTTP {answer.status_code}).",
            hint="Set model.name; it may still work.",
        )
    try:
        return tuple(_parse_names(answer.json()))
    except (ValueError, RecursionError) as error:
        raise RuntimeFailed(
            f"{choice.base_url} is not the address of a model server.", hint="It usually ends in /v1."
        ) from error


def _list_request(choice: ModelChoice) -> tuple[str, dict[str, str]]:
    key = choice.key.reveal()
    if choice.provider.protocol == "anthropic":
        headers = {"authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
        return f"{choice.base_url.removesuffix('/v1')}/v1/models?limit=100", headers
    if choice.provider.protocol == "google":
        return f"{choice.base_url}/v1beta/models?pageSize=200", {"x-goog-api-key": key}
    return f"{choice.base_url}/models", {"authorization": f"Bearer {key}"} if key else {}


def _parse_names(document: Any) -> list[str]:
    entries = document.get("data") or document.get("models") or [] if isinstance(document, dict) else document
    names = (one.get("id") or one.get("name") for one in entries if isinstance(one, dict))
    return [str(name).removeprefix("models/") for name in names if name]
