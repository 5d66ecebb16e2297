"""Appends one by one on a fresh store, against the peer's: the quick part of `store`."""

from __future__ import annotations

from bench.store import appends

if __name__ == "__main__":
    appends()
