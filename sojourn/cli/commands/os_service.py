"""`sojourn service`: keeps the server running, from the login on and after a crash."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from pathlib import Path

import click

from sojourn.cli.context import CommandContext, with_context
from sojourn.cli.options import JsonGroup, yes_option
from sojourn.core.errors import BadInput, SojournError
from sojourn.os_service import ServicePlan, ServiceSpec, build_plan, choose_manager, list_words

_COMMAND_SECONDS = 60.0
_LOG_NAME = "sojourn.log"


@click.group(cls=JsonGroup)
def service() -> None:
    """Keep the server running: from your login on, and again after a crash.

    A systemd user unit on Linux, a launch agent on macOS, a task on Windows; the last two are untried.
    """


@service.command("install")
@click.option("--print", "only_print", is_flag=True, help="Only print the file and the commands.")
@yes_option
@with_context
def install(context: CommandContext, only_print: bool, yes: bool) -> None:
    """Write the service's file and start it."""
    plan = make_plan(context)
    if only_print:
        click.echo(f"# {plan.file}")
        click.echo(plan.content.decode("utf-16" if plan.manager == "windows" else "utf-8"))
        for line in list_words(plan.install):
            click.echo(f"# {line}")
        return
    if not plan.is_tried:
        click.echo(f"! On {plan.manager} this is untried; please report what happens.", err=True)
    context.confirm(f"Write {plan.file} and start the service?", yes=yes)
    (context.settings.home / "logs").mkdir(parents=True, exist_ok=True, mode=0o700)
    plan.file.parent.mkdir(parents=True, exist_ok=True)
    plan.file.write_bytes(plan.content)
    problem = _run_all(plan.install)
    if problem:
        raise SojournError(
            f"{plan.file} is written, but the service was not started: {problem}",
            hint=f"In a session of your own, run: {'; '.join(list_words(plan.install))}",
        )
    value = {"manager": plan.manager, "file": str(plan.file), "started": True}
    context.say(f"The service runs. {plan.hint}".strip(), value)


@service.command("status")
@with_context
def status(context: CommandContext) -> None:
    """Say whether the service is installed, and what the system says of it. Exits with 1 if it is not installed."""
    plan = make_plan(context)
    is_installed = plan.file.exists()
    is_current = is_installed and plan.file.read_bytes() == plan.content
    said = _run(plan.status) if is_installed else None
    value = {
        "manager": plan.manager,
        "file": str(plan.file),
        "installed": is_installed,
        "current": is_current,
        "running": said is not None and said.returncode == 0,
    }
    if context.json:
        context.say("", value)
    elif not is_installed:
        click.echo("The service is not installed. `sojourn service install` does it.")
    else:
        stale = "" if is_current else " It differs from what `service install` would write now."
        click.echo(f"Installed: {plan.file}.{stale}")
        click.echo((said.stdout or said.stderr).strip() if said else "")
    if not is_installed:
        raise click.exceptions.Exit(1)


@service.command("logs")
@click.option("--lines", type=click.IntRange(min=1), default=100, show_default=True, help="So many of the last lines.")
@with_context
def logs(context: CommandContext, lines: int) -> None:
    """Print the end of the server's log."""
    file = context.settings.home / "logs" / _LOG_NAME
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            for line in deque(opened, maxlen=lines):
                click.echo(line, nl=False)
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.", hint="A server writes it.") from error


@service.command("uninstall")
@yes_option
@with_context
def uninstall(context: CommandContext, yes: bool) -> None:
    """Stop the service and remove its file. Your sessions stay."""
    plan = make_plan(context)
    if not plan.file.exists():
        context.say("The service is not installed.", {"removed": False})
        return
    context.confirm(f"Stop the service and remove {plan.file}?", yes=yes)
    problem = remove_service(plan)
    if problem:
        click.echo(f"! {problem}", err=True)
    context.say(f"The service is gone. {context.settings.home} stays as it is.", {"removed": True})


def remove_service(plan: ServicePlan) -> str:
    """Stops a service and removes its file; returns what the system complained about."""
    problem = _run_all(plan.uninstall)
    plan.file.unlink(missing_ok=True)
    return problem


def make_plan(context: CommandContext) -> ServicePlan:
    """The service of this home, run by this Python."""
    home = context.settings.home
    command = (sys.executable, "-m", "sojourn", "--home", str(home), "serve", "--no-token")
    spec = ServiceSpec(command=command, home=home, path=str(context.settings.for_children.get("PATH", "")))
    user_id = os.getuid() if hasattr(os, "getuid") else 0
    return build_plan(choose_manager(sys.platform), spec, Path(context.settings.user_home), user_id)


def _run(command: tuple[str, ...]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None


def _run_all(commands: tuple[tuple[str, ...], ...]) -> str:
    """Runs commands in order; returns the first complaint."""
    for command in commands:
        done = _run(command)
        if done is None:
            return f"{command[0]} cannot be run here."
        if done.returncode:
            return (done.stderr or done.stdout).strip().splitlines()[-1] if done.stderr or done.stdout else "it failed."
    return ""
