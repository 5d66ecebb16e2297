"""The one reader of files, environment and flags: flags beat environment beats file beats default.

`load` reads once; `follow` gives settings that change with config.toml while the process runs.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Settings
from sojourn.settings.formats import split_list
from sojourn.settings.table import CHILD_VARIABLES, LOOK_SECONDS, NEED_RESTART, SETTINGS, SETTINGS_BY_NAME, Setting
from sojourn.settings.values import parse_path, parse_setting

logger = logging.getLogger(__name__)

# Variables that move the homes of other agents, whose histories can be imported.
_HOME_VARIABLES = (  # by which other programs are told where their history is
    *("HERMES_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA"),
    *("GEMINI_CLI_HOME", "COPILOT_HOME", "CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR", "GOOSE_PATH_ROOT"),
    *("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "OPENCLAW_STATE_DIR", "CONTINUE_GLOBAL_DIR"),
    *("LLM_USER_PATH", "LOCALAPPDATA", "FLATPAK_XDG_DATA_HOME", "KIMI_CODE_HOME", "KIMI_SHARE_DIR", "VIBE_HOME"),
    *("GROK_HOME", "DSH_HOME", "OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_PERSISTENCE_DIR", "AIDER_CHAT_HISTORY_FILE"),
)


def load(flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Reads everything once. A mistake names file, key, value and the expected form."""
    env = os.environ if environment is None else environment
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    user_home, home = _find_user_home(env), find_home(flags, env)
    file = home / "config.toml"
    table = _read_toml(file)
    plugins = table.pop("plugins", {})
    if not isinstance(plugins, dict) or not all(isinstance(one, dict) for one in plugins.values()):
        raise BadConfig(
            f"{file}: `plugins` must hold one table per plugin.", hint="Write [plugins.name] and its keys below."
        )
    written = dict(_flatten(table))
    _reject_unknown(written, file)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        raw, origin, where = _choose_value(setting, given, env, written, file)
        values[setting.name] = home if setting.name == "home" else parse_setting(setting, raw, where, user_home)
        origins[setting.name] = origin
    places = {name: env[name] for name in _HOME_VARIABLES if env.get(name)}
    variables = {name: value for name, value in env.items() if name.startswith("SOJOURN_") and value}
    seen = {*CHILD_VARIABLES, *split_list(values["tools.environment"])}
    for_children = {name: value for name, value in env.items() if name in seen}
    return Settings(
        values=values,
        origins=origins,
        user_home=user_home,
        places=places,
        plugins=plugins,
        variables=variables,
        for_children=for_children,
    )


def find_home(flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """The home folder, which no file names: it is known even if config.toml cannot be read."""
    env = os.environ if environment is None else environment
    setting = SETTINGS_BY_NAME["home"]
    raw = (flags or {}).get("home") or env.get(setting.variable) or setting.default
    return parse_path(str(raw), _find_user_home(env))


def _find_user_home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def follow(flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings that follow config.toml: every look at a value sees the file as it is now. Those that need a restart
    keep their first value, and a file with a mistake changes nothing until it is corrected."""
    live = _LiveSettings(flags, dict(os.environ if environment is None else environment))
    return replace(
        live.read(),
        values=_LiveMapping(live, "values"),
        origins=_LiveMapping(live, "origins"),
        plugins=_LiveMapping(live, "plugins"),
        for_children=_LiveMapping(live, "for_children"),
    )


class _LiveSettings:
    """The newest settings without a mistake; config.toml is read again when its stamp changes."""

    def __init__(self, flags: Mapping[str, Any] | None, environment: Mapping[str, str]) -> None:
        self._flags, self._environment, self._lock = flags, environment, threading.Lock()
        self._first = self._current = load(flags, environment)
        self._file = self._first.home / "config.toml"
        self._stamp: tuple[int, ...] | None = None  # the file may have changed since it was read
        self._looked_at = float("-inf")

    def read(self) -> Settings:
        if time.monotonic() - self._looked_at < LOOK_SECONDS:
            return self._current  # a turn looks hundreds of times
        if self._read_stamp() != self._stamp:
            with self._lock:
                stamp = self._read_stamp()
                if stamp != self._stamp:
                    self._reload()
                    self._stamp = stamp
        self._looked_at = time.monotonic()
        return self._current

    def _read_stamp(self) -> tuple[int, ...]:
        try:
            status = self._file.stat()
        except OSError:
            return ()
        return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def _reload(self) -> None:
        try:
            new = load(self._flags, self._environment)
        except BadConfig as error:
            logger.warning("a change of the settings is not in force: %s %s", error, error.hint)
            return
        kept = {name: self._first[name] for name in NEED_RESTART}
        origins = {name: self._first.origins[name] for name in NEED_RESTART}
        self._current = replace(new, values={**new.values, **kept}, origins={**new.origins, **origins})


class _LiveMapping(Mapping[str, Any]):
    """One of the mappings of the settings, as it is now."""

    def __init__(self, live: _LiveSettings, field: str) -> None:
        self._live, self._field = live, field

    def _now(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = getattr(self._live.read(), self._field)
        return found

    def __getitem__(self, name: str) -> Any:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())


def _choose_value(
    setting: Setting, flags: Mapping[str, Any], env: Mapping[str, str], file: Mapping[str, Any], path: Path
) -> tuple[Any, str, str]:
    """The value that wins, where it came from, and how to name that place in an error."""
    if setting.name in flags:
        return flags[setting.name], "flag", f"--{setting.name.split('.')[-1].replace('_', '-')}"
    if env.get(setting.variable):
        return env[setting.variable], "environment", setting.variable
    if setting.name in file:
        return file[setting.name], "file", f"{path}: {setting.name}"
    return setting.default, "default", setting.name


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(
            f"{file} is not valid TOML: {error}.", hint="Correct that line; `sojourn config` checks it."
        ) from error
    except OSError as error:
        raise BadConfig(f"{file} cannot be read: {error.strerror}.", hint="Check its permissions.") from error


def _flatten(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _reject_unknown(written: Mapping[str, Any], file: Path) -> None:
    for name in written:
        if name not in SETTINGS_BY_NAME or name == "home":
            known = ", ".join(sorted(set(SETTINGS_BY_NAME) - {"home"}))
            raise BadConfig(f"{file}: there is no setting `{name}`.", hint=f"Settings are: {known}.")
