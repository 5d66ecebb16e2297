"""Model server: lists the models of a provider's address, and asks how many tokens one of them accepts."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx2

from sojourn.core.errors import KeyRefused, RuntimeFailed, RuntimeUnreachable
from sojourn.runtimes.models.selection import ModelChoice

ASSUMED_WINDOW_TOKENS = 32_768  # when the server does not say
OLLAMA_DEFAULT_TOKENS = 4_096  # Ollama's default; it drops the rest silently
_LIST_TIMEOUT = httpx2.Timeout(1.5, connect=1.0)
_QUICK_TIMEOUT = httpx2.Timeout(1.0, connect=0.4)
_WINDOW_KEYS = ("max_model_len", "context_length", "context_window", "max_context_length", "loaded_context_length")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
_MAX_MODELS, _MAX_NAME_CHARS = 1000, 200  # models of a list, characters of a name
_LIST_SECONDS = 15.0  # for the whole list, however slowly it comes
_QUICK_SECONDS = 2.0
_MAX_ANSWER_BYTES = 8_000_000
_NOT_FOR_CHAT = ("embed", "rerank", "whisper", "tts-", "bge-", "clip")


def select_chat_models(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the models without those that only embed, rank or transcribe."""
    return tuple(name for name in names if not any(word in name.lower() for word in _NOT_FOR_CHAT))


async def list_chat_models(client: httpx2.AsyncClient, choice: ModelChoice) -> tuple[str, ...]:
    """Returns the chat models in the provider's order. RuntimeUnreachable, KeyRefused, RuntimeFailed."""
    url, headers = _list_request(choice)
    try:
        async with asyncio.timeout(_LIST_SECONDS):
            status, body = await _fetch(client, "GET", url, headers=headers, timeout=_LIST_TIMEOUT)
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise RuntimeUnreachable(
            f"Nothing answers at {choice.server}.",
            hint="Start it, or check model.base_url." if choice.is_local else "Check the network and model.base_url.",
        ) from error
    if status in (401, 403):
        raise KeyRefused(f"{choice.provider.label} rejected the API key.", hint="Check model.api_key.")
    if status != 200:
        raise RuntimeFailed(
            f"{choice.provider.label} does not list its models (HTTP {status}).",
            hint="Set model.name; it may still work.",
        )
    try:
        return select_chat_models(_parse_names(json.loads(body)))
    except (ValueError, RecursionError) as error:
        raise RuntimeFailed(
            f"{choice.base_url} is not the address of a model server.", hint="It usually ends in /v1."
        ) from error


async def _fetch(client: httpx2.AsyncClient, method: str, url: str, **options: Any) -> tuple[int, bytes]:
    """The status and the body; of one that is too long, so much that it is no JSON."""
    body = bytearray()
    async with client.stream(method, url, **options) as answer:
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > _MAX_ANSWER_BYTES:
                return answer.status_code, b""
    return answer.status_code, bytes(body)


def _list_request(choice: ModelChoice) -> tuple[str, dict[str, str]]:
    key = choice.key.reveal()
    if choice.provider.protocol == "anthropic":
        headers = {"authorization": f"Bearer {key}", "anthropic-version": "2023-06-01"}
        return f"{choice.base_url.removesuffix('/v1')}/v1/models?limit=100", headers
    if choice.provider.protocol == "google":
        return f"{choice.base_url}/v1beta/models?pageSize=200", {"x-goog-api-key": key}
    return f"{choice.base_url}/models", {"authorization": f"Bearer {key}"} if key else {}


def _parse_names(document: Any) -> list[str]:
    entries = document.get("data") or document.get("models") if isinstance(document, dict) else document
    found = (one.get("id") or one.get("name") for one in list_objects(entries))
    names = (str(name).removeprefix("models/") for name in found if name)
    return [name for name in names if len(name) <= _MAX_NAME_CHARS][:_MAX_MODELS]


def list_objects(entries: Any) -> list[dict[str, Any]]:
    """The objects of a list that a server sent; none if it is no list."""
    return [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []


async def get_json(
    client: httpx2.AsyncClient, url: str, *, send: Any = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Returns the JSON object at an address, asked with GET, or with POST if there is something to send.

    Any failure, and an answer that is no object, is an empty object.
    """
    try:
        async with asyncio.timeout(_QUICK_SECONDS):
            status, body = await _fetch(
                client, "GET" if send is None else "POST", url, json=send, timeout=_QUICK_TIMEOUT, headers=headers
            )
        document = json.loads(body) if status == 200 else None
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


async def probe_context_window(client: httpx2.AsyncClient, choice: ModelChoice) -> int | None:
    """Returns the context window that the server reports for this model; None when it reports none."""
    if choice.provider.protocol != "openai":
        return None  # the agent library knows their windows
    if choice.provider.name == "ollama":
        return await _probe_ollama(client, choice)
    if choice.is_local and (window := await _probe_llamacpp(client, choice)):
        return window
    url, headers = _list_request(choice)
    for entry in list_objects((await get_json(client, url, headers=headers)).get("data")):
        if entry.get("id") == choice.name:
            return next(_window_fields(entry), None)
    return None


async def _probe_llamacpp(client: httpx2.AsyncClient, choice: ModelChoice) -> int | None:
    defaults = (await get_json(client, f"{choice.origin}/props")).get("default_generation_settings")
    window = defaults.get("n_ctx") if isinstance(defaults, Mapping) else None
    return window if isinstance(window, int) and window > 0 else None


async def _probe_ollama(client: httpx2.AsyncClient, choice: ModelChoice) -> int:
    """Returns the window that Ollama runs the model with, not the model's maximum: Ollama drops the rest silently."""
    for entry in list_objects((await get_json(client, f"{choice.origin}/api/ps")).get("models")):
        if choice.name in (entry.get("name"), entry.get("model")):
            for window in _window_fields(entry):
                return window
    details = await get_json(client, f"{choice.origin}/api/show", send={"model": choice.name})
    if configured := _NUM_CTX.search(str(details.get("parameters") or "")):
        return int(configured[1])
    info = details.get("model_info")
    known = info.items() if isinstance(info, dict) else ()
    largest = [value for key, value in known if key.endswith(".context_length") and isinstance(value, int)]
    return min([OLLAMA_DEFAULT_TOKENS, *largest])


def _window_fields(entry: Mapping[str, Any]) -> Iterator[int]:
    for key in _WINDOW_KEYS:
        if isinstance(entry.get(key), int) and entry[key] > 0:
            yield entry[key]
    meta = entry.get("meta")
    if isinstance(meta, Mapping) and isinstance(meta.get("n_ctx_train"), int):
        yield meta["n_ctx_train"]
