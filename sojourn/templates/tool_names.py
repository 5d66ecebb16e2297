"""Tool names of every program, brought together. The table is data: `tool_names.json` beside this file.

A tool's *kind* is its name in the words of Hermes (`Bash` and `shell` are `terminal`); a *family* holds the kinds
that make up a type of task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from sojourn.core.messages import Json
from sojourn.templates.model import TaskType

DOMINANT = 0.6  # more than this share of the calls


@cache
def _load_tables() -> Mapping[str, Any]:
    tables: Mapping[str, Any] = json.loads(files("sojourn.templates").joinpath("tool_names.json").read_text("utf-8"))
    return tables


def table(name: str) -> Any:
    """One of the tables of the data."""
    return _load_tables()[name]


@cache
def _invert_table(name: str) -> dict[str, str]:
    """The key of each entry of a table of lists."""
    return {entry: key for key, entries in table(name).items() for entry in entries}


@cache
def _load_kinds() -> Mapping[str, str]:
    own_kind = [*_invert_table("families"), *table("same")]
    return {name: name for name in own_kind} | _invert_table("same")


@lru_cache(maxsize=4096)
def kind(tool: str) -> str:
    """The tool in the words of Hermes; a tool no table knows is its own kind."""
    known = _load_kinds()
    return known.get(tool) or known.get(tool.rpartition("__")[2]) or tool


@lru_cache(maxsize=4096)
def tool_category(tool: str) -> str:
    """What a tool does: `run` programs, `look` at things, `search`, fetch a `page`, `ask` a server, `relay` what others
    wrote, or `do` something. The words of its name decide for a tool that is in no table."""
    if known := _invert_table("categories").get(kind(tool)):
        return known
    words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", tool).lower())
    for category, names in (("relay", "relaying"), ("ask", "asking"), ("look", "looking")):
        if not set(words).isdisjoint(table(names)):
            return category
    return "do"


@lru_cache(maxsize=4096)
def family(tool: str) -> TaskType | None:
    families = _invert_table("families")
    found = families.get(tool) or families.get(kind(tool))
    return TaskType(found) if found else None


def classify(tools: Iterable[str]) -> TaskType:
    """The family that makes up more than 60 % of the calls; mixed when there is none, or no call at all."""
    names = list(tools)
    counts = dict.fromkeys(TaskType, 0)
    for name in names:
        if found := family(name):
            counts[found] += 1
    return next((one for one, count in counts.items() if count > DOMINANT * len(names)), TaskType.MIXED)


def find_equivalent(tool: str, available: Collection[str]) -> str | None:
    """The tool of this session that does the same; None when it has none."""
    if tool in available:
        return tool
    same = kind(tool)
    return same if same in available else next((one for one in available if kind(one) == same), None)


def in_our_words(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Arguments with the names Hermes uses, so that runs of different programs can be compared."""
    known = _invert_table("arguments")
    if known.keys().isdisjoint(arguments):
        return dict(arguments)
    return {known.get(name, name): value for name, value in arguments.items()}


def command_of(arguments: Mapping[str, Json]) -> str:
    """The command line of a call; Codex gives a list that hands it to a shell."""
    return join_command(arguments.get("command") or in_our_words(arguments).get("command"))


def join_command(command: Json) -> str:
    """Joins a command line that is given as a list of words."""
    if not isinstance(command, list):
        return str(command or "")
    words = [str(word) for word in command]
    is_wrapped = len(words) == 3 and words[0].rpartition("/")[2] in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc")
    return words[2] if is_wrapped else " ".join(words)


def path_of(arguments: Mapping[str, Json]) -> str:
    """The file a call is about, whatever its program calls that argument."""
    value: Json = arguments.get("path") or in_our_words(arguments).get("path")
    return value if isinstance(value, str) else ""


def rename_arguments(arguments: Mapping[str, Json], tool: str, target: str) -> dict[str, Json]:
    """Arguments for another program's tool of the same kind. Names no table knows stay as they are."""
    if tool == target:
        return dict(arguments)
    theirs = table("spelling").get(target, {})
    return {theirs.get(name, name): value for name, value in in_our_words(arguments).items()}
