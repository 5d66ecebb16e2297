"""The word lists of this package: data files with comments."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load_words(name: str) -> frozenset[str]:
    """Reads the words of a data file."""
    return frozenset(word for line in read_lines(name) for word in line.split())


def read_lines(name: str) -> list[str]:
    """Reads a data file, without blank lines and comments."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
