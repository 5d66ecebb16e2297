"""The patterns of the judge, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

TABLES = tomllib.loads(files("sojourn.templates.judge").joinpath("phrases.toml").read_text("utf-8"))


def compile_table(chapter: str, table: str, flags: int = 0, *, before: str = "") -> re.Pattern[str]:
    """One pattern that has the entries of a table as its alternatives, after the pattern `before`."""
    return re.compile(f"{before}(?:{'|'.join(TABLES[chapter][table])})", flags)


def load_words(chapter: str, table: str) -> tuple[str, ...]:
    """The words of a table, in its order."""
    return tuple(TABLES[chapter][table].split())


def load_verbs(table: str) -> dict[str, list[str]]:
    """The verbs of programs: `git log show` says that `git` has `log` and `show`."""
    return {program: verbs for program, *verbs in map(str.split, TABLES["shell"][table])}
