"""What the doctor looks at. Each check answers with a value and never raises."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sojourn.cli.context import CommandContext
from sojourn.cli.formatting import format_bytes, pluralize
from sojourn.core.errors import MissingPackage, SojournError
from sojourn.core.settings import Settings
from sojourn.ports.store import Health

State = Literal["ok", "warning", "problem"]
_LOW_DISK_BYTES = 1_000_000_000
_FULL_DISK_BYTES = 50_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    what: str
    state: State
    detail: str
    hint: str = ""


def run_checks(context: CommandContext) -> list[Check]:
    """Everything, in the order in which one thing needs the other."""
    found = [_check_python(), _check_sqlite()]
    try:
        settings = context.settings
    except SojournError as error:
        return [*found, Check("config", "problem", str(error), error.hint), *_check_plugins(context)]
    file = settings.home / "config.toml"
    found.append(Check("config", "ok", str(file) if file.exists() else f"{file} is not there: all defaults"))
    found += [_check_home(settings), _check_disk(settings), _check_store(context, settings)]
    return [*found, *_check_histories(context), *_check_plugins(context)]


def _check_python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "ok", f"{version} ({sys.executable})")


def _check_sqlite() -> Check:
    version = sqlite3.sqlite_version
    try:
        opened = sqlite3.connect(":memory:")
        opened.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        opened.close()
    except sqlite3.Error:
        hint = "Use a Python whose SQLite has FTS5, or a PostgreSQL store."
        return Check("sqlite", "problem", f"{version} without full-text search", hint)
    return Check("sqlite", "ok", f"{version} with full-text search (FTS5)")


def _check_home(settings: Settings) -> Check:
    home = settings.home
    if not home.exists():
        return Check("home", "ok", f"{home} is not there yet; it is made when something is kept")
    if not home.is_dir():
        return Check("home", "problem", f"{home} is not a folder", "Choose another one with SOJOURN_HOME.")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        return Check("home", "warning", f"{home} can be read by others (mode {mode:o})", f"chmod 700 {home}")
    return Check("home", "ok", f"{home} (mode {mode:o})")


def _check_disk(settings: Settings) -> Check:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < _LOW_DISK_BYTES:
        state: State = "problem" if free < _FULL_DISK_BYTES else "warning"
        return Check("disk", state, f"only {format_bytes(free)} free at {place}", "Free some space.")
    return Check("disk", "ok", f"{format_bytes(free)} free")


def _check_store(context: CommandContext, settings: Settings) -> Check:
    """The store's own word. A store that is not there is not made just to look at it."""
    if not settings["database_url"] and not (settings.home / "state.db").exists():
        return Check("store", "ok", "none yet; it is made when something is kept")
    try:
        health = context.run(lambda app: app.store.health())
    except SojournError as error:
        return Check("store", "problem", str(error), error.hint)
    return to_check(health)


def to_check(health: Health) -> Check:
    """The health of a store, as a check."""
    if health.state == "healthy":
        return Check("store", "ok", f"healthy: {health.store}")
    state: State = "warning" if health.readable else "problem"
    return Check("store", state, f"{health.state}: {health.error or health.store}", health.hint)


def _check_histories(context: CommandContext) -> Iterator[Check]:
    try:
        found = context.app.find_histories()
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
            yield Check(
                "histories", "ok", f"{place}: {pluralize(one.sessions, 'session')}, {format_bytes(one.bytes)}", hint
            )


def _check_plugins(context: CommandContext) -> Iterator[Check]:
    working = len(context.plugins.all())
    yield Check("plugins", "ok", f"{pluralize(working, 'plugin')} loaded")
    for name, error in context.plugins.problems.items():
        state: State = "warning" if isinstance(error, MissingPackage) else "problem"
        yield Check("plugins", state, f"{name}: {error}", error.hint)
