"""Newest values: a mapping of limited size, for what an adapter remembers about chats and messages."""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")


class NewestValues(dict[str, V], Generic[V]):
    """Keeps the values that were put in last, at most `limit`; the oldest are dropped."""

    def __init__(self, limit: int = 500) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: str, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > self._limit:
            del self[next(iter(self))]
