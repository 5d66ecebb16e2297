"""Word vectors (the package wordllama): small, quick, and for English. Loaded by name, see `senses`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import numpy
import wordllama
from numpy.typing import NDArray

from sojourn.core.errors import MissingPackage
from sojourn.ports.app import HasSettings

_MOST = 20_000  # vectors that are kept in memory


class WordVectors:
    """The mean of a text's word vectors; what all texts have in common is taken off before they are compared."""

    def __init__(self, _kit: HasSettings) -> None:
        try:
            # Its own lookup misses the files it ships, and would then download them.
            self._model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        except (OSError, ValueError) as error:
            raise MissingPackage(f"wordllama cannot be used: {error}.", hint="Install it again with pip.") from error
        self._known: dict[str, NDArray[numpy.float32]] = {}
        self._lock = Lock()

    def nearness(self, asked: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        found = self._vectors([*texts, asked])
        common = found[:-1].mean(axis=0) if len(texts) >= 20 else numpy.zeros_like(found[-1])
        apart = _unit(found - common)
        return [float(value) for value in apart[:-1] @ apart[-1]]

    def _vectors(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        with self._lock:
            if len(self._known) > _MOST:
                self._known.clear()
            if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
                self._known.update(zip(new, self._model.embed(new, norm=True), strict=True))
            return numpy.stack([self._known[text] for text in texts])


def _unit(rows: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    lengths = numpy.linalg.norm(rows, axis=-1, keepdims=True)
    return numpy.asarray(rows / numpy.maximum(lengths, 1e-9), dtype=numpy.float32)
