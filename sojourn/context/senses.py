"""Closeness in meaning, where word vectors are installed.

They come with a package somebody may not have (`pip install 'sojourn[local-model]'`), load in tenths of a second
and compute, so they are reached by dotted name, made on first use, and only ever used in a thread.
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

WORDS: Lazy[type[WordVectors]] = Lazy("sojourn.context.word_vectors:WordVectors")  # its library is an extra


class Sense(Protocol):
    """Knows how near texts are in meaning. Blocks: call it in a thread."""

    def nearness(self, asked: str, texts: Sequence[str]) -> list[float]:
        """The cosine between what was asked and each text, from -1 to 1."""
        ...


class Senses:
    """The senses of this process, each made once: `kit.shared(Senses)`.

    Making one takes long compared with a turn. So it is made in a thread of its own, and whoever asks before it
    is there waits `patience` seconds at most and then goes without.
    """

    def __init__(self, kit: PluginContext) -> None:
        self._kit = kit
        self._made: dict[str, Sense | None] = {}
        self._making: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def words(self, patience: float | None = None) -> Sense | None:
        """Knows words that are near each other: thousands of texts a second."""
        return self._sense(WORDS.dotted, patience)

    async def close(self) -> None:
        """What is half made is waited for: a thread that is left behind in an import may take the process down."""
        for thread in self._making.values():
            await asyncio.to_thread(thread.join)

    def _sense(self, dotted: str, patience: float | None) -> Sense | None:
        with self._lock:
            if dotted not in self._making:
                self._making[dotted] = threading.Thread(target=self._make, args=(dotted,), daemon=True, name=dotted)
                self._making[dotted].start()
        self._making[dotted].join(patience)
        return self._made.get(dotted)

    def _make(self, dotted: str) -> None:
        try:
            self._made[dotted] = self._kit.load(WORDS)(self._kit)
        except SojournError as error:  # not installed, or not the file we know: words alone have to do
            logger.info("without %s: %s", dotted, error)
