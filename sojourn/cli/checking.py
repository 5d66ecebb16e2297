"""What the doctor looks at. Each check answers with a value and never raises."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sojourn.cli.given import Given
from sojourn.cli.words import many, size
from sojourn.core.errors import MissingPackage, SojournError
from sojourn.core.health import Health
from sojourn.core.settings import Settings

State = Literal["ok", "warning", "problem"]
_LITTLE, _TOO_LITTLE = 1_000_000_000, 50_000_000  # bytes of free disk


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    state: State
    detail: str
    hint: str = ""


def examine(given: Given) -> list[Check]:
    """Everything, in the order in which one thing needs the other."""
    found = [_python(), _sqlite()]
    try:
        settings = given.settings
    except SojournError as error:
        return [*found, Check("config", "problem", str(error), error.hint), *_plugins(given)]
    file = settings.home / "config.toml"
    found.append(Check("config", "ok", str(file) if file.exists() else f"{file} is not there: all defaults"))
    found += [_home(settings), _disk(settings), _store(given, settings)]
    return [*found, *_histories(given), *_plugins(given)]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "ok", f"{version} ({sys.executable})")


def _sqlite() -> Check:
    version = sqlite3.sqlite_version
    try:
        opened = sqlite3.connect(":memory:")
        opened.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        opened.close()
    except sqlite3.Error:
        hint = "Use a Python whose SQLite has FTS5, or a PostgreSQL store."
        return Check("sqlite", "problem", f"{version} without full-text search", hint)
    return Check("sqlite", "ok", f"{version} with full-text search (FTS5)")


def _home(settings: Settings) -> Check:
    home = settings.home
    if not home.exists():
        return Check("home", "ok", f"{home} is not there yet; it is made when something is kept")
    if not home.is_dir():
        return Check("home", "problem", f"{home} is not a folder", "Choose another one with SOJOURN_HOME.")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        return Check("home", "warning", f"{home} can be read by others (mode {mode:o})", f"chmod 700 {home}")
    return Check("home", "ok", f"{home} (mode {mode:o})")


def _disk(settings: Settings) -> Check:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < _LITTLE:
        state: State = "problem" if free < _TOO_LITTLE else "warning"
        return Check("disk", state, f"only {size(free)} free at {place}", "Free some space.")
    return Check("disk", "ok", f"{size(free)} free")


def _store(given: Given, settings: Settings) -> Check:
    """The store's own word. A store that is not there is not made just to look at it."""
    if not settings["database_url"] and not (settings.home / "state.db").exists():
        return Check("store", "ok", "none yet; it is made when something is kept")
    try:
        health = given.run(lambda kit: kit.store.health())
    except SojournError as error:
        return Check("store", "problem", str(error), error.hint)
    return told(health)


def told(health: Health) -> Check:
    """The health of a store, as a check."""
    if health.state == "healthy":
        return Check("store", "ok", f"healthy: {health.store}")
    state: State = "warning" if health.readable else "problem"
    return Check("store", state, f"{health.state}: {health.error or health.store}", health.hint)


def _histories(given: Given) -> Iterator[Check]:
    try:
        found = given.kit.find_histories()
    except SojournError as error:
        yield Check("histories", "problem", str(error), error.hint)
        return
    if not found:
        yield Check("histories", "ok", "no history of another agent in the usual places")
    for one in found:
        place = f"{one.source} at {one.home}"
        if one.problem:
            yield Check("histories", "warning", f"{place} cannot be read: {one.problem}", "It is not empty.")
        else:
            hint = f"`sojourn import {one.source}` brings in what is new."
            yield Check("histories", "ok", f"{place}: {many(one.sessions, 'session')}, {size(one.bytes)}", hint)


def _plugins(given: Given) -> Iterator[Check]:
    working = len(given.plugins.all())
    yield Check("plugins", "ok", f"{many(working, 'plugin')} loaded")
    for name, error in given.plugins.problems.items():
        state: State = "warning" if isinstance(error, MissingPackage) else "problem"
        yield Check("plugins", state, f"{name}: {error}", error.hint)
