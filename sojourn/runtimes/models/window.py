"""How many tokens a model can take: asked of the server where it can say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from sojourn.runtimes.models.choice import Choice
from sojourn.runtimes.models.local import get_json

ASSUMED = 32_768  # when nobody can say
OLLAMA_ASSUMED = 4_096  # what Ollama gives a model that says nothing; it drops the rest without a word
_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)


async def probe(client: httpx2.AsyncClient, choice: Choice) -> int | None:
    """What the server says about this model; None when it does not."""
    if choice.provider.protocol != "openai":
        return None  # their windows are known
    if choice.provider.name == "ollama":
        return await _ollama(client, choice)
    if choice.is_local and (found := await _llamacpp(client, choice)):
        return found
    key = choice.key.reveal()
    headers = {"authorization": f"Bearer {key}"} if key else {}
    listed = await get_json(client, f"{choice.base_url}/models", **headers)
    for entry in (listed or {}).get("data") or []:
        if isinstance(entry, dict) and entry.get("id") == choice.name:
            return next(_numbers(entry), None)
    return None


async def _llamacpp(client: httpx2.AsyncClient, choice: Choice) -> int | None:
    props = await get_json(client, f"{choice.origin}/props")
    made = (props or {}).get("default_generation_settings")
    found = made.get("n_ctx") if isinstance(made, Mapping) else None
    return found if isinstance(found, int) and found > 0 else None


async def _ollama(client: httpx2.AsyncClient, choice: Choice) -> int:
    """The window it runs with, not the one the model could have: what is beyond is dropped without a word."""
    running = await get_json(client, f"{choice.origin}/api/ps")
    for entry in (running or {}).get("models") or []:
        if isinstance(entry, dict) and choice.name in (entry.get("name"), entry.get("model")):
            for found in _numbers(entry):
                return found
    shown = await get_json(client, f"{choice.origin}/api/show", send={"model": choice.name}) or {}
    told = _NUM_CTX.search(str(shown.get("parameters") or ""))
    if told:
        return int(told[1])
    info = shown.get("model_info")
    most = [value for key, value in (info or {}).items() if key.endswith(".context_length") and isinstance(value, int)]
    return min([OLLAMA_ASSUMED, *most])


def _numbers(entry: Mapping[str, Any]) -> Iterator[int]:
    for key in _KEYS:
        if isinstance(entry.get(key), int) and entry[key] > 0:
            yield entry[key]
    meta = entry.get("meta")
    if isinstance(meta, Mapping) and isinstance(meta.get("n_ctx_train"), int):
        yield meta["n_ctx_train"]
