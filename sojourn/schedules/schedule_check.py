"""Checks what a schedule names, when it is made or changed and not when it runs at night."""

from __future__ import annotations

from difflib import get_close_matches

from sojourn.core.errors import BadInput
from sojourn.core.handoff import LOCAL_SURFACES
from sojourn.ports.app import AppContext
from sojourn.ports.plugin import parts_by_name


def check_schedule(app: AppContext, *, deliver: str = "", runtime: str = "") -> None:
    """BadInput unless there are such a network and such a runtime; both may be empty."""
    if platform := deliver.partition(":")[0]:
        known = {name for plugin in app.plugins() for name in parts_by_name(plugin.platforms)}
        _require("network", platform, sorted(known | set(LOCAL_SURFACES)))
    if runtime:
        _require("runtime", runtime, sorted(app.runtime_names()))


def _require(what: str, name: str, known: list[str]) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
        raise BadInput(f'There is no {what} "{name}".', hint=hint)
