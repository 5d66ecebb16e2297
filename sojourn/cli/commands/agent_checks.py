"""Checks of what answers and reaches out: the model, MCP servers, chat networks, the service of the system."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence

from sojourn.cli.commands.doctor_check import DoctorCheck
from sojourn.cli.commands.os_service import make_plan
from sojourn.cli.context import CommandContext
from sojourn.core.errors import SojournError
from sojourn.ports.app import AppContext
from sojourn.ports.plugin import parts_by_name
from sojourn.ports.runtime import RuntimeStatus
from sojourn.ports.service import Caller

_MODEL_HINT = "Ask “how do I use a better model?” in `sojourn chat`, or see Settings → Models in `sojourn dashboard`."


def check_agents(context: CommandContext) -> Iterator[DoctorCheck]:
    """A check never raises."""
    for check in (_check_model, _check_mcp_servers, _check_networks, _check_service):
        try:
            yield from check(context)
        except SojournError as error:
            yield DoctorCheck(check.__name__.removeprefix("_check_"), "problem", str(error), error.hint)


def _check_model(context: CommandContext) -> Iterator[DoctorCheck]:
    found = context.run(_ask_model)
    if found is not None and found.ok:
        yield DoctorCheck("model", "ok", found.detail)
    elif found is not None:
        detail = f"{found.detail} The built-in helper answers meanwhile."
        yield DoctorCheck("model", "warning", detail, found.hint or _MODEL_HINT)


async def _ask_model(app: AppContext) -> RuntimeStatus | None:
    return await app.runtime("native").ready() if "native" in app.runtime_names() else None


def _check_mcp_servers(context: CommandContext) -> Iterator[DoctorCheck]:
    for sign, name, words in context.run(_list_mcp_servers):
        yield DoctorCheck("mcp", "warning" if sign == "✗" else "ok", f"{name}: {words}")


async def _list_mcp_servers(app: AppContext) -> Sequence[tuple[str, ...]]:
    """The servers as /mcp lists them; those that were never asked are started for it."""
    plugin = next((one for one in app.plugins() if "mcp" in one.chat_commands), None)
    if plugin is None or not app.configured(plugin.name).servers:
        return ()
    await asyncio.to_thread(app.tools)
    output = await app.load(plugin.chat_commands["mcp"])(app, None, "", Caller())  # type: ignore[operator]
    rows: Sequence[tuple[str, ...]] = output.rows
    return rows


def _check_networks(context: CommandContext) -> Iterator[DoctorCheck]:
    """Whether the networks that config.toml names have the packages they need."""
    app, working = context.app, list[str]()
    for plugin in app.plugins():
        for name, part in parts_by_name(plugin.platforms).items() if plugin.name in app.settings.plugins else ():
            try:
                app.load(part)
                working.append(name)
            except SojournError as error:
                yield DoctorCheck("networks", "warning", f"{name}: {error}", error.hint)
    if working:
        yield DoctorCheck("networks", "ok", f"{', '.join(working)}: what they need is installed")


def _check_service(context: CommandContext) -> Iterator[DoctorCheck]:
    plan = make_plan(context)
    if not plan.file.exists():
        hint = "`sojourn service install` starts the server when you log in."
        yield DoctorCheck("service", "ok", "not installed", hint)
    elif os.fsencode(sys.executable) not in plan.file.read_bytes():
        hint = "`sojourn service install` writes it anew."
        yield DoctorCheck("service", "warning", f"{plan.file} starts another installation than this one", hint)
    else:
        yield DoctorCheck("service", "ok", f"installed: {plan.file}")
