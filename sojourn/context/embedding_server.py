"""Embedding server: vectors from an OpenAI-compatible `/v1/embeddings`. `embeddings` loads this module by name."""

from __future__ import annotations

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
Vector = tuple[float, ...]


class EmbeddingServer:
    """Compares texts by the vectors of a server. What it does not answer in time is not compared."""

    def __init__(self, app: HasSettings) -> None:
        self._url = str(app.settings["memory.embedder_url"]).rstrip("/")
        self._model = str(app.settings["memory.embedder_model"])
        if not self._url:
            raise BadInput(
                "No embedding server is named.", hint="Set memory.embedder_url, or memory.embedder = packaged."
            )
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
        answer = httpx2.post(f"{self._url}/embeddings", json=body, timeout=_TIMEOUT_SECONDS)
        answer.raise_for_status()
        rows: list[dict[str, Any]] = sorted(answer.json()["data"], key=lambda row: row["index"])
        return [_normalise(row["embedding"]) for row in rows]


def _normalise(values: Sequence[Any]) -> Vector:
    numbers = [float(value) for value in values]
    length = sqrt(sum(value * value for value in numbers)) or 1.0
    return tuple(value / length for value in numbers)
