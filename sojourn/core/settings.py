"""Every setting there is, as values: name, variable, default, meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["text", "path", "number", "decimal", "yes/no", "secret"]


class Secret(str):
    """A text that prints as dots; `reveal` gives it away on purpose."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "•••" if self else "''"

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return format(repr(self), how)

    def reveal(self) -> str:
        return str.__str__(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. `name` is its key in config.toml (`server.port` is `port` under `[server]`)."""

    name: str
    variable: str
    kind: Kind
    default: Any
    meaning: str
    least: float | None = None
    most: float | None = None


SETTINGS = (
    Setting(name="home", variable="SOJOURN_HOME", kind="path", default="~/.sojourn",
            meaning="The folder that holds everything Sojourn keeps."),
    Setting(name="database_url", variable="SOJOURN_DATABASE_URL", kind="secret", default="",
            meaning="A PostgreSQL address, for more than one machine. Empty: state.db in the home."),
    Setting(name="redact", variable="SOJOURN_REDACT", kind="yes/no", default=True,
            meaning="Black out keys, tokens and passwords before anything is kept."),
    Setting(name="server.host", variable="SOJOURN_HOST", kind="text", default="127.0.0.1",
            meaning="The address `sojourn serve` listens on."),
    Setting(name="server.port", variable="SOJOURN_PORT", kind="number", default=8790, least=0, most=65535,
            meaning="The port `sojourn serve` listens on; 0 takes a free one."),
    Setting(name="server.token", variable="SOJOURN_TOKEN", kind="secret", default="",
            meaning="The token clients must show. Empty: a new one at each start."),
    Setting(name="achievements.ttl_seconds", variable="SOJOURN_ACHIEVEMENTS_TTL", kind="number", default=120,
            least=60, most=180, meaning="How old a badge snapshot may be before it is refreshed."),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}

# Where other programs keep their histories, unless these variables say otherwise.
PLACES = ("HERMES_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings as they are in force, and where each came from."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]  # default, file, environment, flag
    user_home: Path
    places: Mapping[str, str]  # the variables of PLACES that are set
    plugins: Mapping[str, Mapping[str, Any]]  # the tables [plugins.<name>]
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)  # SOJOURN_…, for settings of plugins

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def home(self) -> Path:
        return Path(self.values["home"])
