"""Word vectors of the package wordllama, for English. `embeddings` loads this module by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy
import wordllama
from numpy.typing import NDArray

from sojourn.core.errors import MissingPackage
from sojourn.ports.app import HasSettings

_MAX_CACHED_VECTORS = 20_000  # vectors


class WordVectors:
    """Embeds a text as the mean of its word vectors; subtracts the mean of all texts before comparing."""

    def __init__(self, _app: HasSettings) -> None:
        try:
            # wordllama's own lookup misses the files it ships, and would then download them.
            self._model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        except (OSError, ValueError) as error:
            raise MissingPackage(f"wordllama cannot be used: {error}.", hint="Install it again with pip.") from error
        self._cache: dict[str, NDArray[numpy.float32]] = {}
        self._lock = Lock()

    @property
    def name(self) -> str:
        return f"wordllama-{wordllama.__version__}"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(value) for value in row] for row in _normalise(self._vectors(texts))]

    def similarities(self, query: str, texts: Sequence[str], *, centred: bool = True) -> list[float]:
        if not texts:
            return []
        vectors = self._vectors([*texts, query])
        common = vectors[:-1].mean(axis=0) if centred and len(texts) >= 20 else numpy.zeros_like(vectors[-1])
        apart = _normalise(vectors - common)
        return [float(value) for value in apart[:-1] @ apart[-1]]

    def _vectors(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        with self._lock:
            if len(self._cache) > _MAX_CACHED_VECTORS:
                self._cache.clear()
            if new := [text for text in dict.fromkeys(texts) if text not in self._cache]:
                self._cache.update(zip(new, self._model.embed(new, norm=True), strict=True))
            return numpy.stack([self._cache[text] for text in texts])


def _normalise(rows: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    lengths = numpy.linalg.norm(rows, axis=-1, keepdims=True)
    return numpy.asarray(rows / numpy.maximum(lengths, 1e-9), dtype=numpy.float32)
