"""What a search passes over: the patterns of .gitignore files, and folders nobody means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ALWAYS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache"}
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a .gitignore, for paths from its folder."""

    matches: re.Pattern[str]
    only_folders: bool
    keeps: bool  # it began with !


@dataclass(frozen=True, slots=True)
class Ignored:
    """The patterns that hold in a folder, its parents' first."""

    levels: tuple[tuple[str, tuple[Pattern, ...]], ...] = ()  # (folder from the root, its patterns)

    def inside(self, folder: Path, name: str) -> Ignored:
        """These and what the folder's own .gitignore adds. `name` is the folder from the root, "" for the root."""
        try:
            text = (folder / ".gitignore").read_text("utf-8", "replace")
        except OSError:
            return self
        found = tuple(made for line in text.splitlines()[:2000] if (made := read_pattern(line)))
        return Ignored((*self.levels, (name, found))) if found else self

    def hides(self, path: str, *, is_folder: bool) -> bool:
        """Whether git would not see this path (from the root)."""
        hidden = False
        for base, patterns in self.levels:
            below = path.removeprefix(base + "/") if base else path
            for one in patterns:
                if (is_folder or not one.only_folders) and one.matches.fullmatch(below):
                    hidden = not one.keeps
        return hidden


def read_pattern(line: str) -> Pattern | None:
    """A line of a .gitignore; None when it says nothing."""
    line = line.rstrip("\r\n")
    line = line if line.endswith("\\ ") else line.rstrip(" ")
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    line = line[1:] if keeps or line.startswith(("\\#", "\\!")) else line
    only_folders = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = "/" in line
    try:
        made = re.compile(("" if anchored else "(?:.*/)?") + translated(line.removeprefix("/")))
    except re.error:
        return None
    return Pattern(made, only_folders, keeps)


def translated(glob: str) -> str:
    """A glob as a regular expression: `**` crosses folders, `*` and `?` do not."""
    made, at = "", 0
    while at < len(glob):
        if glob.startswith("**/", at):
            made, at = made + "(?:.*/)?", at + 3
        elif glob.startswith("**", at):
            made, at = made + ".*", at + 2
        elif glob[at] == "*":
            made, at = made + "[^/]*", at + 1
        elif glob[at] == "?":
            made, at = made + "[^/]", at + 1
        elif glob[at] == "[" and (stop := glob.find("]", at + 2)) > 0:
            inside = glob[at + 1 : stop].replace("\\", "\\\\")
            made, at = made + "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]", stop + 1
        elif glob[at] == "\\" and at + 1 < len(glob):
            made, at = made + re.escape(glob[at + 1]), at + 2
        else:
            made, at = made + re.escape(glob[at]), at + 1
    return made
