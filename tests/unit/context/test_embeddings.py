"""Models that load beside the turns, never in their way."""

import threading

from sojourn.context.embeddings import EMBEDDING_SERVER, WORD_VECTORS, Embedders
from sojourn.core.errors import MissingPackage


class Loads:
    """As much of a kit as the embedders need: a model that comes when the test lets it, or never."""

    def __init__(self, *, is_there=True, embedder="packaged"):
        self.settings = {"memory.embedder": embedder}
        self.is_there, self.gate, self.made = is_there, threading.Event(), 0

    def load(self, dotted):
        self.gate.wait()
        if not self.is_there:
            raise MissingPackage(f"{dotted} is not installed.")
        self.made += 1
        return lambda kit: f"embedder of {dotted}"


def test_who_cannot_wait_goes_without_and_finds_it_the_next_time():
    kit = Loads()
    embedders = Embedders(kit)
    assert embedders.word_vectors(0.01) is None
    kit.gate.set()
    assert embedders.word_vectors() == f"embedder of {WORD_VECTORS}"
    assert embedders.word_vectors(0) == f"embedder of {WORD_VECTORS}"
    assert kit.made == 1


def test_what_is_not_installed_is_simply_not_there():
    kit = Loads(is_there=False)
    kit.gate.set()
    assert Embedders(kit).word_vectors() is None


def test_the_setting_says_which_one_is_used():
    for embedder, expected in (("server", f"embedder of {EMBEDDING_SERVER}"), ("none", None)):
        kit = Loads(embedder=embedder)
        kit.gate.set()
        assert Embedders(kit).word_vectors() == expected
