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
def _table() -> Mapping[str, Mapping[str, list[str]]]:
    table: Mapping[str, Mapping[str, list[str]]] = _data()
    return table


@cache
def _spelling() -> Mapping[str, Mapping[str, str]]:
    spelling: Mapping[str, Mapping[str, str]] = _data()["spelling"]
    return spelling


@cache
def _data() -> Mapping[str, Any]:
    text = files("sojourn.templates").joinpath("tool_names.json").read_text("utf-8")
    data: Mapping[str, Any] = json.loads(text)
    return data


def table(name: str) -> Any:
    """One of the tables of the data."""
    return _data()[name]


@cache
def _kinds() -> Mapping[str, str]:
    same = _table()["same"]
    named = {name: name for names in _table()["families"].values() for name in names}
    return named | {kind: kind for kind in same} | {other: kind for kind, names in same.items() for other in names}


@cache
def _families() -> Mapping[str, TaskType]:
    return {name: TaskType(family) for family, names in _table()["families"].items() for name in names}


@lru_cache(maxsize=4096)
def kind(tool: str) -> str:
    """The tool in the words of Hermes; a tool no table knows is its own kind."""
    known = _kinds()
    return known.get(tool) or known.get(tool.rpartition("__")[2]) or tool


@cache
def _categories() -> Mapping[str, str]:
    return {name: category for category, names in _data()["categories"].items() for name in names}


@lru_cache(maxsize=4096)
def tool_category(tool: str) -> str:
    """What a tool does: `run` programs, `look` at things, `search`, fetch a `page`, `ask` a server, `relay` what others
    wrote, or `do` something. The words of its name decide for a tool that is in no table."""
    if known := _categories().get(kind(tool)):
        return known
    words = re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", tool).lower())
    for category, names in (("relay", "relaying"), ("ask", "asking"), ("look", "looking"), ("run", "running")):
        if not set(words).isdisjoint(_data()[names]):
            return category
    return "do"


def family(tool: str) -> TaskType | None:
    return _families().get(tool) or _families().get(kind(tool))


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


@cache
def _argument_names() -> Mapping[str, str]:
    return {other: name for name, others in _table()["arguments"].items() for other in others}


def in_our_words(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Arguments with the names Hermes uses, so that runs of different programs can be compared."""
    known = _argument_names()
    if known.keys().isdisjoint(arguments):
        return dict(arguments)
    return {known.get(name, name): value for name, value in arguments.items()}


def command_of(arguments: Mapping[str, Json]) -> str:
    """The command line of a call; Codex gives a list that hands it to a shell."""
    return join_command(arguments.get("command") or in_our_words(arguments).get("command"))


def join_command(command: Json) -> str:
    """A command line that is a text, or a list of words."""
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
    theirs = _spelling().get(target, {})
    return {theirs.get(name, name): value for name, value in in_our_words(arguments).items()}
