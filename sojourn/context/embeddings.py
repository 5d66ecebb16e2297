"""Embeddings: similarity of texts by word vectors, where they are installed.

The vectors come with an optional package (`pip install 'sojourn[local-model]'`) and take tenths of a second to load,
so they are loaded by dotted name on first use, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from sojourn.core.errors import SojournError
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginContext

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from sojourn.context.word_vectors import WordVectors

WORD_VECTORS: Lazy[type[WordVectors]] = Lazy("sojourn.context.word_vectors:WordVectors")  # its library is an extra


class Embedder(Protocol):
    """Computes the similarity of texts. Blocks: call it in a thread."""

    def similarities(self, query: str, texts: Sequence[str]) -> list[float]:
        """Returns the cosine similarity between the query and each text, from -1 to 1."""
        ...


class Embedders:
    """The embedders of this process, each loaded once: `kit.shared(Embedders)`.

    Loading one takes long compared with a turn. It happens in a thread of its own; a caller waits at most
    `max_wait` seconds for it and gets None if it is not loaded by then.
    """

    def __init__(self, kit: PluginContext) -> None:
        self._kit = kit
        self._loaded: dict[str, Embedder | None] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def word_vectors(self, max_wait: float | None = None) -> Embedder | None:
        """Returns the word vectors: thousands of texts a second."""
        return self._get(WORD_VECTORS.dotted, max_wait)

    async def close(self) -> None:
        """Waits for loading threads: one that is still in an import at exit may crash the process."""
        for thread in self._threads.values():
            await asyncio.to_thread(thread.join)

    def _get(self, dotted: str, max_wait: float | None) -> Embedder | None:
        with self._lock:
            if dotted not in self._threads:
                self._threads[dotted] = threading.Thread(target=self._load, args=(dotted,), daemon=True, name=dotted)
                self._threads[dotted].start()
        self._threads[dotted].join(max_wait)
        return self._loaded.get(dotted)

    def _load(self, dotted: str) -> None:
        try:
            self._loaded[dotted] = self._kit.load(WORD_VECTORS)(self._kit)
        except SojournError as error:  # not installed, or a damaged file: BM25 alone ranks
            logger.info("without %s: %s", dotted, error)
