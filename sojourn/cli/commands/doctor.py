"""`sojourn doctor`: checks the installation and says how to fix what is wrong. A check never raises."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator

import click

from sojourn.cli.command_table import PRINT_CHECKS
from sojourn.cli.commands.agent_checks import check_agents
from sojourn.cli.commands.doctor_check import CheckState, DoctorCheck, Mend
from sojourn.cli.context import CommandContext, with_context
from sojourn.cli.options import JsonCommand
from sojourn.core.errors import BadInput, MissingPackage, SojournError
from sojourn.core.settings import Settings
from sojourn.ports.store import Health
from sojourn.sandbox.enforcement import find_support
from sojourn.sandbox.guarantees import list_guarantees
from sojourn.settings.changes import change_setting
from sojourn.text.formatting import format_bytes, pluralize

_LOW_DISK_BYTES = 1_000_000_000
_FULL_DISK_BYTES = 50_000_000
_FIX_HINT = "Without it, `doctor` says how to mend each."


@click.command(cls=JsonCommand)
@click.option("--fix", is_flag=True, help="Offer to mend what can be mended; each is asked about.")
@with_context
def doctor(context: CommandContext, fix: bool) -> None:
    """Check that everything is in order. Exits with 1 if something is wrong."""
    if fix and not context.is_interactive:
        raise BadInput("--fix asks before it changes anything, and there is no terminal to ask on.", hint=_FIX_HINT)
    checks = _run_checks(context)
    values = [{"check": one.what, "state": one.state, "detail": one.detail, "hint": one.hint} for one in checks]
    context.show(values, PRINT_CHECKS, checks)
    for mend in [one.mend for one in checks if one.mend is not None] if fix else ():
        if context.ask(mend.question):
            mend.run()
            context.say("Done.")
    if any(one.state == "problem" for one in checks):
        raise click.exceptions.Exit(1)


def _run_checks(context: CommandContext) -> list[DoctorCheck]:
    """Runs all checks; each comes after those it depends on."""
    found = [_check_python(), _check_sqlite(), _check_sandbox()]
    try:
        settings = context.settings
    except SojournError as error:
        return [*found, DoctorCheck("config", "problem", str(error), error.hint), *_check_plugins(context)]
    file = settings.home / "config.toml"
    found.append(
        DoctorCheck(
            "config", "ok", str(file) if file.exists() else f"{file} does not exist: all settings have their defaults"
        )
    )
    found += [_check_home(settings), _check_disk(settings), _check_store(context, settings)]
    found += _check_secrets(context, settings)
    return [*found, *_check_histories(context), *_check_plugins(context), *check_agents(context)]


def _check_python() -> DoctorCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    return DoctorCheck("python", "ok", f"{version} ({sys.executable})")


def _check_sqlite() -> DoctorCheck:
    version = sqlite3.sqlite_version
    try:
        opened = sqlite3.connect(":memory:")
        opened.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
        opened.close()
    except sqlite3.Error:
        hint = "Use a Python whose SQLite has FTS5, or a PostgreSQL store."
        return DoctorCheck("sqlite", "problem", f"{version} without full-text search", hint)
    return DoctorCheck("sqlite", "ok", f"{version} with full-text search (FTS5)")


def _check_sandbox() -> DoctorCheck:
    support = find_support()
    lacking = [f"A program {one.what}: not enforced here." for one in list_guarantees(support) if not one.by]
    if support.is_complete:
        version = f", Landlock {support.landlock}" if support.landlock else ""
        return DoctorCheck(
            "sandbox", "ok", " ".join([f"commands are confined ({support.mechanism}{version})", *lacking])
        )
    hint = "Install bubblewrap, or a newer kernel; until then every command is asked about."
    return DoctorCheck("sandbox", "warning", " ".join([*support.missing, *lacking]), hint)


def _check_home(settings: Settings) -> DoctorCheck:
    home = settings.home
    if not home.exists():
        return DoctorCheck("home", "ok", f"{home} does not exist yet; it is created when something is saved")
    if not home.is_dir():
        return DoctorCheck("home", "problem", f"{home} is not a folder", "Choose another one with SOJOURN_HOME.")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        mend = Mend(f"Make {home} readable for you alone?", lambda: home.chmod(0o700))
        return DoctorCheck(
            "home", "warning", f"{home} can be read by others (mode {mode:o})", f"chmod 700 {home}", mend
        )
    return DoctorCheck("home", "ok", f"{home} (mode {mode:o})")


def _check_disk(settings: Settings) -> DoctorCheck:
    place = settings.home
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < _LOW_DISK_BYTES:
        state: CheckState = "problem" if free < _FULL_DISK_BYTES else "warning"
        return DoctorCheck("disk", state, f"only {format_bytes(free)} free at {place}", "Free some space.")
    return DoctorCheck("disk", "ok", f"{format_bytes(free)} free")


def _check_store(context: CommandContext, settings: Settings) -> DoctorCheck:
    """Asks the store for its health. A check never creates a store."""
    if not settings["database_url"] and not (settings.home / "state.db").exists():
        return DoctorCheck("store", "ok", "none yet; it is created when something is saved")
    try:
        health = context.run(lambda app: app.store.health())
    except SojournError as error:
        return DoctorCheck("store", "problem", str(error), error.hint)
    return to_check(health)


def _check_secrets(context: CommandContext, settings: Settings) -> Iterator[DoctorCheck]:
    """Says how many secrets the upgrade found in what was stored before."""
    if not settings["database_url"] and not (settings.home / "state.db").exists():
        return
    if not settings["redact"]:
        mend = Mend("Redact secrets from now on?", lambda: change_setting(context.app, "redact", "yes"))
        yield DoctorCheck("secrets", "warning", "secrets are not redacted", "`sojourn config set redact yes`", mend)
        return
    try:
        found = context.run(lambda app: app.store.stats(by_part=False)).redacted
    except SojournError:
        return  # the check of the store has said why
    if found:
        copies = settings.home / "backups"
        hint = f"Backups from before still hold them; delete those in {copies} when you need them no more."
        yield DoctorCheck("secrets", "ok", f"{pluralize(found, 'secret')} in older text found and redacted", hint)
    else:
        yield DoctorCheck("secrets", "ok", "redacted before they are stored")


def to_check(health: Health) -> DoctorCheck:
    """Converts the health of a store to a check."""
    if health.state == "healthy":
        return DoctorCheck("store", "ok", f"healthy: {health.store}")
    state: CheckState = "warning" if health.readable else "problem"
    return DoctorCheck("store", state, f"{health.state}: {health.error or health.store}", health.hint)


def _check_histories(context: CommandContext) -> Iterator[DoctorCheck]:
    try:
        found = context.app.find_histories()
    except SojournError as error:
        yield DoctorCheck("histories", "problem", str(error), error.hint)
        return
    if not found:
        yield DoctorCheck("histories", "ok", "no history of another agent in the usual places")
    for one in found:
        place = f"{one.source} at {one.home}"
        if one.problem:
            yield DoctorCheck("histories", "warning", f"{place} cannot be read: {one.problem}", "It is not empty.")
        else:
            hint = f"`sojourn import {one.source}` brings in what is new."
            yield DoctorCheck(
                "histories", "ok", f"{place}: {pluralize(one.sessions, 'session')}, {format_bytes(one.bytes)}", hint
            )


def _check_plugins(context: CommandContext) -> Iterator[DoctorCheck]:
    working = len(context.plugins.all())
    yield DoctorCheck("plugins", "ok", f"{pluralize(working, 'plugin')} loaded")
    for name, error in context.plugins.problems.items():
        state: CheckState = "warning" if isinstance(error, MissingPackage) else "problem"
        yield DoctorCheck("plugins", state, f"{name}: {error}", error.hint)
