"""The patterns of the judge, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

TABLES = tomllib.loads(files("sojourn.templates.judge").joinpath("phrases.toml").read_text("utf-8"))


def compile_chapter(chapter: str, flags: int = 0, **before: str) -> dict[str, re.Pattern[str]]:
    """A pattern for each table of a chapter: its entries are the alternatives, after the pattern `before` them."""
    return {
        name: re.compile(f"{before.get(name, '')}(?:{'|'.join(entries)})", flags)
        for name, entries in TABLES[chapter].items()
        if isinstance(entries, list)
    }


def load_words(chapter: str, table: str) -> tuple[str, ...]:
    """The words of a table, in its order."""
    return tuple(TABLES[chapter][table].split())


def load_verbs(table: str) -> dict[str, list[str]]:
    """The verbs of programs: `git log show` says that `git` has `log` and `show`."""
    return {program: verbs for program, *verbs in map(str.split, TABLES["shell"][table])}
