"""`sojourn update` and `sojourn uninstall`: how this copy was installed, and the commands to change that."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click

import sojourn
from sojourn import __version__
from sojourn.cli.commands.os_service import make_plan, remove_service
from sojourn.cli.context import CommandContext, with_context
from sojourn.cli.options import JsonCommand, yes_option
from sojourn.server_file import is_serving, read_server_file

_GIT_SECONDS = 30.0
_KINDS = {"clone": "a clone", "pipx": "installed by pipx", "uv": "installed by uv", "pip": "installed by pip"}
_TAG = re.compile(r"refs/tags/v(\d+(?:\.\d+)*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How this copy was installed, and the commands of that way."""

    kind: str
    place: Path
    upgrade: str
    remove: str


def find_installation(package: Path, executable: Path) -> Installation:
    """From where the package lies and which Python runs it."""
    for folder in package.parents:
        if (folder / ".git").exists() and (folder / "pyproject.toml").exists():
            return Installation(
                kind="clone",
                place=folder,
                upgrade=f"git -C {shlex.quote(str(folder))} pull && make -C {shlex.quote(str(folder))} venv",
                remove=f"rm -r {shlex.quote(str(folder))}",
            )
    parts = executable.parts
    if "pipx" in parts:
        return Installation(
            kind="pipx", place=package, upgrade="pipx install --force WHEEL", remove="pipx uninstall sojourn"
        )
    if "uv" in parts and "tools" in parts:
        upgrade, remove = "uv tool install --force WHEEL", "uv tool uninstall sojourn"
        return Installation(kind="uv", place=package, upgrade=upgrade, remove=remove)
    pip = f"{executable} -m pip"
    return Installation(
        kind="pip", place=package, upgrade=f"{pip} install --upgrade WHEEL", remove=f"{pip} uninstall sojourn"
    )


def _find_own() -> Installation:
    return find_installation(Path(sojourn.__file__).resolve().parent, Path(sys.executable))


@click.command(cls=JsonCommand)
@click.option("--check", is_flag=True, help="Ask the place that this clone came from for newer versions.")
@with_context
def update(context: CommandContext, check: bool) -> None:
    """Say which version runs and how to get a newer one.

    Nothing is asked of any other machine, except with --check of the address that a clone came from. An upgrade keeps
    the token and the settings, and makes a backup before it changes the store.
    """
    own = _find_own()
    found = _ask_newest(own) if check else Newest()
    told = {"newest": found.version, "newer_commits": found.has_commits}
    value = {"version": __version__, "kind": own.kind, **told, "upgrade": own.upgrade}
    context.say(f"Sojourn {__version__}, {_KINDS[own.kind]} ({own.place}).", value)
    if context.json:
        return
    if check:
        click.echo(f"  {_describe_newest(own, found)}")
    click.echo(f"  To upgrade: {own.upgrade}\n  Then:       sojourn server restart")


@dataclass(frozen=True, slots=True)
class Newest:
    """What the place that a clone came from has: its newest version, and commits that are not here. None: not known."""

    version: str | None = None
    has_commits: bool | None = None


def _describe_newest(own: Installation, found: Newest) -> str:
    if own.kind != "clone":
        return "Whether there is a newer one is known only in a clone; this was installed from a file."
    if found.has_commits is None:
        return "The place that the clone came from gave no answer."
    if found.version is not None and _to_numbers(found.version) > _to_numbers(__version__):
        return f"There is a newer one: {found.version}."
    return "There are newer changes." if found.has_commits else "There is nothing newer."


def _ask_newest(own: Installation) -> Newest:
    """Asks the repository that a clone came from for its version tags and its newest commit."""
    if own.kind != "clone":
        return Newest()
    told = _run_git(own, "ls-remote", "origin", "HEAD", "refs/tags/v*")
    head = re.match(r"([0-9a-f]{40,64})\tHEAD$", told or "", re.MULTILINE)
    if told is None or head is None:
        return Newest()
    versions = _TAG.findall(told)
    is_here = _run_git(own, "merge-base", "--is-ancestor", head[1], "HEAD") is not None
    return Newest(max(versions, key=_to_numbers) if versions else None, not is_here)


def _run_git(own: Installation, *words: str) -> str | None:
    """What git prints; None if it fails."""
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(own.place), *words], capture_output=True, text=True, timeout=_GIT_SECONDS, env=env
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _to_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


@click.command(cls=JsonCommand)
@yes_option
@with_context
def uninstall(context: CommandContext, yes: bool) -> None:
    """Take Sojourn off this machine.

    Removes the service, and says what stays and how to remove it. Your sessions stay until you remove the folder
    yourself.
    """
    plan, own, home = make_plan(context), _find_own(), context.settings.home
    if plan.file.exists():
        context.confirm(f"Stop the service and remove {plan.file}?", yes=yes)
        remove_service(plan)
    running = read_server_file(home)
    left = [("the program", own.remove), ("your sessions, settings and keys", f"rm -r {home}")]
    if context.settings["database_url"]:
        left.append(("the PostgreSQL database", "drop it there"))
    value = {"service_removed": not plan.file.exists(), "left": [{"what": what, "how": how} for what, how in left]}
    context.say("The service is removed, if there was one. What stays, and how to remove it:", value)
    if not context.json:
        if running is not None and is_serving(running):
            click.echo("  the running server: sojourn server stop")
        for what, how in left:
            click.echo(f"  {what}: {how}")
