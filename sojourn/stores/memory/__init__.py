"""Keeping in dictionaries: tests, demos, incognito. The other stores must give the same answers."""

from sojourn.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
