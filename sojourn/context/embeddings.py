"""Closeness in meaning, where word vectors are installed.

They come with a package somebody may not have (`pip install 'sojourn[local-model]'`), load in tenths of a second
and compute, so they are reached by dotted name, made on first use, and only ever used in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Protocol, cast

from sojourn.core.errors import SojournError
from sojourn.ports.kit import Kit

logger = logging.getLogger(__name__)

WORDS = "sojourn.context.word_vectors:WordVectors"


class Embedder(Protocol):
    """Knows how near texts are in meaning. Blocks: call it in a thread."""

    def nearness(self, asked: str, texts: Sequence[str]) -> list[float]:
        """The cosine between what was asked and each text, from -1 to 1."""
        ...


class Embedders:
    """The senses of this process, each made once: `kit.shared(Embedders)`.

    Making one takes long compared with a turn. So it is made in a thread of its own, and whoever asks before it
    is there waits `patience` seconds at most and then goes without.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._made: dict[str, Embedder | None] = {}
        self._making: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def words(self, patience: float | None = None) -> Embedder | None:
        """Knows words that are near each other: thousands of texts a second."""
        return self._sense(WORDS, patience)

    async def close(self) -> None:
        """What is half made is waited for: a thread that is left behind in an import may take the process down."""
        for thread in self._making.values():
            await asyncio.to_thread(thread.join)

    def _sense(self, dotted: str, patience: float | None) -> Embedder | None:
        with self._lock:
            if dotted not in self._making:
                self._making[dotted] = threading.Thread(target=self._make, args=(dotted,), daemon=True, name=dotted)
                self._making[dotted].start()
        self._making[dotted].join(patience)
        return self._made.get(dotted)

    def _make(self, dotted: str) -> None:
        try:
            self._made[dotted] = cast(Embedder, self._kit.load(dotted)(self._kit))  # type: ignore[operator]
        except SojournError as error:  # not installed, or not the file we know: words alone have to do
            logger.info("without %s: %s", dotted, error)
