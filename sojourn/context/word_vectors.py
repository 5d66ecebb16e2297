"""Word vectors of the package wordllama, for English. `embeddings` loads this module by name.

Only the package's two files are used: its program would import an HTTP client, and copy the table into memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sojourn.core.errors import MissingPackage
from sojourn.ports.app import HasSettings
from sojourn.text.stemming import is_stop_word

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH_TEXTS = 64  # embedded at once
_MAX_CACHED_VECTORS = 20_000  # vectors of texts
_MAX_WORDS = 32_768  # in the table of word vectors; further ones resemble nothing
_SAME_WORD = 0.8  # similarity from which on a word counts as another form of the same
_WORD = re.compile(r"[^\W_]+")


class WordVectors:
    """Embeds a text as the mean of its word vectors; subtracts the mean of all texts before comparing."""

    def __init__(self, _app: HasSettings) -> None:
        found = find_spec("wordllama")
        if found is None:
            raise MissingPackage("wordllama is not installed.", hint="Install it with pip.")
        folder = Path(str(found.origin)).parent
        try:
            self._tokenizer = Tokenizer.from_buffer((folder / _TOKENIZER).read_bytes())
            self._table = _map_table(folder / _WEIGHTS)
        except (OSError, ValueError, KeyError) as error:
            raise MissingPackage(f"wordllama cannot be used: {error}.", hint="Install it again with pip.") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._cache: dict[str, NDArray[numpy.float32]] = {}
        self._row_of: dict[str, int] = {}  # of words, in the table below
        self._words = numpy.zeros((_MAX_WORDS, self._table.shape[1]), numpy.float32)
        self._lock = Lock()

    @property
    def name(self) -> str:
        return f"wordllama-{version('wordllama')}"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(value) for value in row] for row in _normalise(self._vectors(texts))]

    def similarities(self, query: str, texts: Sequence[str], *, centred: bool = True) -> list[float]:
        if not texts:
            return []
        vectors = self._vectors([*texts, query])
        common = vectors[:-1].mean(axis=0) if centred and len(texts) >= 20 else numpy.zeros_like(vectors[-1])
        apart = _normalise(vectors - common)
        return [float(value) for value in apart[:-1] @ apart[-1]]

    def match_words(self, query: str, texts: Sequence[str]) -> list[float]:
        """Returns how much of the query each text has, from 0 to 1: the similarity of the word that is nearest to each
        word of the query, weighted by how few of the texts have that word."""
        found = [set(_WORD.findall(text.lower())) or {""} for text in texts]
        with self._lock:
            if len(self._row_of) > _MAX_WORDS // 2:
                self._row_of.clear()
            asked = self._list_rows(set(_WORD.findall(query.lower())))
            flat = self._list_rows(word for words in found for word in words)
            asked = asked[asked > 0]
            known, at = numpy.unique(flat, return_inverse=True)
            # Not `@`, whose threads take more processor time than the products.
            near = numpy.maximum(numpy.einsum("ij,kj->ik", self._words[asked], self._words[known]), 0)
        if not asked.size or not texts:
            return [0.0] * len(texts)
        starts = numpy.cumsum([0, *map(len, found[:-1])])
        best = numpy.maximum.reduceat(near[:, at], starts, axis=1)
        having = (best >= _SAME_WORD).sum(axis=1)
        rarity = numpy.log(1 + (2 * len(texts) - having + 0.5) / (having + 0.5))
        return [float(value) for value in rarity @ best / rarity.sum()]

    def _list_rows(self, words: Iterable[str]) -> NDArray[numpy.intp]:
        """Returns the row of each word in the table of word vectors; words that say nothing have that of zeros."""
        words, row_of = list(words), self._row_of
        if new := {word for word in words if word not in row_of}:
            first = max(row_of.values(), default=0) + 1
            telling = [word for word in new if word and not is_stop_word(word)][: _MAX_WORDS - first]
            row_of.update(dict.fromkeys(new, 0))
            row_of.update(zip(telling, range(first, first + len(telling)), strict=True))
            if telling:
                self._words[first : first + len(telling)] = self._embed(telling)
        return numpy.fromiter(map(row_of.__getitem__, words), numpy.intp, len(words))

    def _vectors(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        with self._lock:
            if len(self._cache) > _MAX_CACHED_VECTORS:
                self._cache.clear()
            if new := [text for text in dict.fromkeys(texts) if text not in self._cache]:
                self._cache.update(zip(new, self._embed(new), strict=True))
            return numpy.stack([self._cache[text] for text in texts])

    def _embed(self, texts: list[str]) -> NDArray[numpy.float32]:
        """Returns the mean of the vectors of each text's tokens, of length 1; zeros for a text without any."""
        tokens = [one.ids for one in self._tokenizer.encode_batch(texts, add_special_tokens=False)]
        means = numpy.zeros((len(texts), self._table.shape[1]), numpy.float32)
        for first in range(0, len(texts), _BATCH_TEXTS):
            batch = tokens[first : first + _BATCH_TEXTS]
            filled = [at for at, ids in enumerate(batch) if ids]
            if filled:
                ids = numpy.concatenate([batch[at] for at in filled])
                starts = numpy.cumsum([0, *(len(batch[at]) for at in filled[:-1])])
                rows = self._table[numpy.minimum(ids, len(self._table) - 1)].astype(numpy.float32)
                means[[first + at for at in filled]] = numpy.add.reduceat(rows, starts, axis=0)
        return _normalise(means)


def _map_table(path: Path) -> NDArray[numpy.float16]:
    """Maps the table of a safetensors file; its rows are read when they are needed. ValueError, KeyError."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        about = json.loads(file.read(size))["embedding.weight"]
    if about["dtype"] != "F16":
        raise ValueError(f"{path.name} is not of half floats")
    offset = 8 + size + about["data_offsets"][0]
    return numpy.memmap(path, "<f2", mode="r", offset=offset, shape=tuple(about["shape"]))


def _normalise(rows: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    lengths = numpy.linalg.norm(rows, axis=-1, keepdims=True)
    return numpy.asarray(rows / numpy.maximum(lengths, 1e-9), dtype=numpy.float32)
