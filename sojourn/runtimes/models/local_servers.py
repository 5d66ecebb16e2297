"""Finds model servers on the usual ports of this machine by asking each for its list of models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from sojourn.core.settings import Settings
from sojourn.runtimes.models.selection import PROVIDERS, ModelChoice, Provider

QUICK_TIMEOUT = httpx2.Timeout(1.0, connect=0.4)
USUAL_PORTS: tuple[tuple[int, str], ...] = ((11434, "ollama"), (1234, "lmstudio"), (8080, "llamacpp"), (8000, "vllm"))
_OWNERS = {"llamacpp": "llamacpp", "vllm": "vllm", "library": "ollama", "organization_owner": "lmstudio"}
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts-", "bge-", "clip")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server that answered, and its models."""

    provider: Provider
    base_url: str
    models: tuple[str, ...]

    def first_choice(self) -> ModelChoice | None:
        """Returns its first model that can chat."""
        names = chat_models(self.models)
        return ModelChoice(provider=self.provider, base_url=self.base_url, name=names[0]) if names else None


def chat_models(models: Sequence[str]) -> tuple[str, ...]:
    """Returns the models without those that only embed, rank or transcribe."""
    return tuple(name for name in models if not any(word in name.lower() for word in _NOT_FOR_CHAT))


async def find_local_servers(
    settings: Settings, usual: Sequence[tuple[int, str]] = USUAL_PORTS, client: httpx2.AsyncClient | None = None
) -> list[LocalServer]:
    """Asks all ports at once and returns the servers that answer within a second; none if `model.detect` is off."""
    if not settings["model.detect"]:
        return []
    if client is None:
        async with httpx2.AsyncClient(trust_env=False) as own:  # never through a proxy
            return await find_local_servers(settings, usual, own)
    found = await asyncio.gather(*(_ask_port(client, port, name) for port, name in usual))
    return [server for server in found if server is not None]


async def _ask_port(client: httpx2.AsyncClient, port: int, usually: str) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    document = await get_json(client, f"{base_url}/models")
    entries = [one for one in (document or {}).get("data") or [] if isinstance(one, dict) and one.get("id")]
    if not entries or any(one.get("owned_by") == "sojourn" for one in entries):  # a Sojourn server on that port
        return None
    owner = _OWNERS.get(str(entries[0].get("owned_by")), usually)
    return LocalServer(provider=PROVIDERS[owner], base_url=base_url, models=tuple(str(one["id"]) for one in entries))


async def get_json(client: httpx2.AsyncClient, url: str, *, send: Any = None, **headers: str) -> dict[str, Any] | None:
    """Returns the JSON object at an address; None on any failure."""
    try:
        if send is None:
            answer = await client.get(url, timeout=QUICK_TIMEOUT, headers=headers)
        else:
            answer = await client.post(url, json=send, timeout=QUICK_TIMEOUT, headers=headers)
        document = answer.json() if answer.status_code == 200 else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
