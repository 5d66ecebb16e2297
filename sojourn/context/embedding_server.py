"""Embedding server: vectors from an OpenAI-compatible `/v1/embeddings`. `embeddings` loads this module by name.

If no address is set, the first server on this machine that lists an embedding model is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import sqrt
from threading import Lock
from typing import Any

import httpx2

from sojourn.core.errors import BadInput, RuntimeUnreachable
from sojourn.ports.app import HasSettings

_MAX_TEXTS = 256  # in one request
_MAX_CHARS = 8000  # of one text
_MAX_CACHED_VECTORS = 20_000  # vectors
_TIMEOUT_SECONDS = 0.8  # a turn waits a second for its context
_USUAL_PORTS = (11434, 1234, 8080, 8000)  # of Ollama, LM Studio, llama.cpp and vLLM
_LIST_TIMEOUT_SECONDS = 0.5
_EMBEDDING_MODEL = re.compile(r"embed|minilm|mpnet|\b(?:bge|gte|e5)\b", re.IGNORECASE)
Vector = tuple[float, ...]


class EmbeddingServer:
    """Compares texts by the vectors of a server. What it does not answer in time is not compared."""

    def __init__(self, app: HasSettings, *, usual: Sequence[int] = _USUAL_PORTS) -> None:
        self._url = str(app.settings["memory.embedder_url"]).rstrip("/")
        self._model = str(app.settings["memory.embedder_model"])
        if not self._url:
            found = _find_server(usual, self._model) if app.settings["model.detect"] else None
            if found is None:
                raise BadInput(
                    "No embedding server is named, and none was found on this machine.",
                    hint="Set memory.embedder_url, or memory.embedder = packaged.",
                )
            self._url, self._model = found
        key = app.settings["memory.embedder_key"].reveal() if app.settings["memory.embedder_url"] else ""
        self._headers = {"authorization": f"Bearer {key}"} if key else {}  # never for a server that was found
        self._cache: dict[str, Vector] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        return self._model

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            vectors = self._embed(texts)
        except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:
            raise RuntimeUnreachable(
                f"The embedding server does not answer: {error}", hint=f"Is {self._url} up?"
            ) from error
        return [list(vectors[text]) for text in texts]

    def similarities(self, query: str, texts: Sequence[str], *, centred: bool = True) -> list[float]:
        try:
            vectors = self._embed([query, *texts])
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            return [0.0] * len(texts)
        asked = vectors[query]
        return [sum(map(float.__mul__, asked, vectors[text])) for text in texts]

    def _embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        with self._lock:
            if len(self._cache) > _MAX_CACHED_VECTORS:
                self._cache.clear()
            new = [text for text in dict.fromkeys(texts) if text not in self._cache]
            for start in range(0, len(new), _MAX_TEXTS):
                part = new[start : start + _MAX_TEXTS]
                self._cache.update(zip(part, self._ask(part), strict=True))
            return {text: self._cache[text] for text in texts}

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        body = {"model": self._model, "input": [text[:_MAX_CHARS] or " " for text in texts]}
        answer = httpx2.post(f"{self._url}/embeddings", json=body, headers=self._headers, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        rows: list[dict[str, Any]] = sorted(answer.json()["data"], key=lambda row: row["index"])
        return [_normalise(row["embedding"]) for row in rows]


def _find_server(ports: Sequence[int], wanted: str) -> tuple[str, str] | None:
    """Returns the address of the first server that lists the wanted model, or any embedding model, and its name."""
    for port in ports:
        url = f"http://127.0.0.1:{port}/v1"
        try:
            answer = httpx2.get(f"{url}/models", timeout=_LIST_TIMEOUT_SECONDS)
            answer.raise_for_status()
            names = [str(row["id"]) for row in answer.json()["data"]]
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            continue
        for name in names:
            if name == wanted or (not wanted and _EMBEDDING_MODEL.search(name)):
                return url, name
    return None


def _normalise(values: Sequence[Any]) -> Vector:
    numbers = [float(value) for value in values]
    length = sqrt(sum(value * value for value in numbers)) or 1.0
    return tuple(value / length for value in numbers)
