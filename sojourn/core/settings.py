"""Settings in force. `sojourn/settings/table.py` lists every setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Secret(str):
    """A string that prints as dots; `reveal` returns the text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "•••" if self else "''"

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(repr(self), how)

    def reveal(self) -> str:
        return str.__str__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in force, and where each value came from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]  # default, file, environment, flag
    user_home: Path
    places: Mapping[str, str]  # variables that move the homes of other agents
    plugins: Mapping[str, Mapping[str, Any]]  # the tables [plugins.<name>]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # SOJOURN_…, for settings of plugins
    for_children: Mapping[str, str] = field(default_factory=dict, repr=False)  # environment of tools' commands

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def home(self) -> Path:
        return Path(self.values["home"])
