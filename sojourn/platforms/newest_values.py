"""Newest values: a mapping of limited size, for what an adapter remembers about chats and messages."""

from __future__ import annotations

from typing import Generic, TypeVar

_MAX_KEPT = 500  # values

V = TypeVar("V")


class NewestValues(dict[str, V], Generic[V]):
    """Keeps the values that were put in last; the oldest are dropped."""

    def __setitem__(self, key: str, value: V) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > _MAX_KEPT:
            del self[next(iter(self))]
