"""The patterns of the judge, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

_TABLES = tomllib.loads(files("sojourn.templates.judge").joinpath("phrases.toml").read_text("utf-8"))


def compile_table(chapter: str, table: str, flags: int = 0, *, before: str = "") -> re.Pattern[str]:
    """One pattern that has the entries of a table as its alternatives, after the pattern `before`."""
    return re.compile(f"{before}(?:{'|'.join(_TABLES[chapter][table])})", flags)


def load_words(chapter: str, table: str) -> tuple[str, ...]:
    """The entries of a table."""
    return tuple(_TABLES[chapter][table])


def words_of(text: str) -> tuple[str, ...]:
    """A list of words, written as one text."""
    return tuple(text.split())
