"""Finds model servers on the usual ports of this machine by asking each for its list of models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from sojourn.runtimes.models.local_model import USUAL_PORTS
from sojourn.runtimes.models.model_server import get_json, list_objects, select_chat_models
from sojourn.runtimes.models.selection import PROVIDERS, Provider

_OWNERS = {"llamacpp": "llamacpp", "vllm": "vllm", "library": "ollama", "organization_owner": "lmstudio"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """A model server on this machine, and its chat models."""

    provider: Provider
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(ports: Sequence[tuple[int, str]] = USUAL_PORTS) -> list[LocalServer]:
    """Every server that answers within a second and has a chat model."""
    async with httpx2.AsyncClient(trust_env=False) as client:  # never through a proxy
        found = await asyncio.gather(*(_ask_port(client, port, provider) for port, provider in ports))
    return [server for server in found if server is not None]


async def _ask_port(client: httpx2.AsyncClient, port: int, usual_provider: str) -> LocalServer | None:
    base_url = f"http://127.0.0.1:{port}/v1"
    document = await get_json(client, f"{base_url}/models")
    entries = [one for one in list_objects(document.get("data")) if one.get("id")]
    names = select_chat_models([str(one["id"]) for one in entries])
    if not names or any(one.get("owned_by") == "sojourn" for one in entries):  # a Sojourn server on that port
        return None
    provider = _OWNERS.get(str(entries[0].get("owned_by")), usual_provider)
    return LocalServer(provider=PROVIDERS[provider], base_url=base_url, models=names)
