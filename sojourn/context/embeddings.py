"""Embeddings: similarity of texts by word vectors, where they are installed, or by an embedding server.

The vectors come with an optional package (`sojourn plugins install local-model`) and take tenths of a second to load,
so they are loaded by dotted name on first use, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from sojourn.core.errors import SojournError
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginContext

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from sojourn.context.embedding_server import EmbeddingServer
    from sojourn.context.word_vectors import WordVectors

LOAD_WAIT_SECONDS = 0.5  # what a turn waits for word vectors that are being loaded
WORD_VECTORS: Lazy[type[WordVectors]] = Lazy("sojourn.context.word_vectors:WordVectors")  # its library is an extra

EMBEDDING_SERVER: Lazy[type[EmbeddingServer]] = Lazy("sojourn.context.embedding_server:EmbeddingServer")


class Embedder(Protocol):
    """Embeds texts and computes their similarity. Blocks: call it in a thread."""

    @property
    def name(self) -> str: ...  # of its model

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns a vector of length one for each text."""
        ...

    def similarities(self, query: str, texts: Sequence[str], *, centred: bool = True) -> list[float]:
        """Returns the cosine similarity between the query and each text, from -1 to 1.

        centred: what many texts have in common does not count
        """
        ...


@runtime_checkable
class MatchesWords(Protocol):
    """An embedder that knows single words."""

    def match_words(self, query: str, texts: Sequence[str]) -> list[float]:
        """Returns how much of the query's words each text has, be it in other words; from 0 to 1."""
        ...


class Embedders:
    """The word vectors of this process, loaded once: `app.shared(Embedders)`.

    Loading them takes long compared with a turn. It happens in a thread of its own; a caller waits at most
    `max_wait` seconds for it and gets None if they are not loaded by then.
    """

    def __init__(self, app: PluginContext) -> None:
        self._app = app
        self._loaded: Embedder | None = None
        self._thread = threading.Thread(target=self._load, daemon=True, name="word vectors")
        self._lock = threading.Lock()

    def word_vectors(self, max_wait: float | None = None) -> Embedder | None:
        """Returns the word vectors, which compare thousands of texts a second."""
        with self._lock:
            if self._thread.ident is None:
                self._thread.start()
        self._thread.join(max_wait)
        return self._loaded

    async def close(self) -> None:
        """Waits for the loading thread: one that is still in an import at exit may crash the process."""
        if self._thread.ident is not None:
            await asyncio.to_thread(self._thread.join)

    def _load(self) -> None:
        chosen = self._app.settings["memory.embedder"]
        try:
            if chosen == "packaged":
                self._loaded = self._app.load(WORD_VECTORS)(self._app)
            elif chosen == "server":
                self._loaded = self._app.load(EMBEDDING_SERVER)(self._app)
        except SojournError as error:  # not installed, or a damaged file: BM25 alone ranks
            logger.info("word vectors are not used: %s", error)
