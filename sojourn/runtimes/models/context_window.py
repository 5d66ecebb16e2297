"""Context window: asks the server how many tokens a model accepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from sojourn.runtimes.models.local_servers import get_json
from sojourn.runtimes.models.selection import ModelChoice

ASSUMED_TOKENS = 32_768  # when the server does not say
OLLAMA_DEFAULT_TOKENS = 4_096  # Ollama's default; it drops the rest silently
_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def probe_context_window(client: httpx2.AsyncClient, choice: ModelChoice) -> int | None:
    """Returns the window that the server reports for this model; None when it reports none."""
    if choice.provider.protocol != "openai":
        return None  # the agent library knows their windows
    if choice.provider.name == "ollama":
        return await _probe_ollama(client, choice)
    if choice.is_local and (found := await _probe_llamacpp(client, choice)):
        return found
    key = choice.key.reveal()
    headers = {"authorization": f"Bearer {key}"} if key else {}
    listed = await get_json(client, f"{choice.base_url}/models", **headers)
    for entry in (listed or {}).get("data") or []:
        if isinstance(entry, dict) and entry.get("id") == choice.name:
            return next(_window_fields(entry), None)
    return None


async def _probe_llamacpp(client: httpx2.AsyncClient, choice: ModelChoice) -> int | None:
    props = await get_json(client, f"{choice.origin}/props")
    defaults = (props or {}).get("default_generation_settings")
    window = defaults.get("n_ctx") if isinstance(defaults, Mapping) else None
    return window if isinstance(window, int) and window > 0 else None


async def _probe_ollama(client: httpx2.AsyncClient, choice: ModelChoice) -> int:
    """Returns the window that Ollama runs the model with, not the model's maximum: Ollama drops the rest silently."""
    running = await get_json(client, f"{choice.origin}/api/ps")
    for entry in (running or {}).get("models") or []:
        if isinstance(entry, dict) and choice.name in (entry.get("name"), entry.get("model")):
            for found in _window_fields(entry):
                return found
    details = await get_json(client, f"{choice.origin}/api/show", send={"model": choice.name}) or {}
    configured = _NUM_CTX.search(str(details.get("parameters") or ""))
    if configured:
        return int(configured[1])
    info = details.get("model_info")
    most = [value for key, value in (info or {}).items() if key.endswith(".context_length") and isinstance(value, int)]
    return min([OLLAMA_DEFAULT_TOKENS, *most])


def _window_fields(entry: Mapping[str, Any]) -> Iterator[int]:
    for key in _KEYS:
        if isinstance(entry.get(key), int) and entry[key] > 0:
            yield entry[key]
    meta = entry.get("meta")
    if isinstance(meta, Mapping) and isinstance(meta.get("n_ctx_train"), int):
        yield meta["n_ctx_train"]
