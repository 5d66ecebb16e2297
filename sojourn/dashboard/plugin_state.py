"""State of every plugin with a page, and the consents that turn plugins on and off. Needs no server.

A consent is a small file in `<home>/plugins-enabled/`: outside the plugin's folder, so that no plugin can bring its own
consent along, and on this machine like the plugin's code, not in a store that several machines share.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from sojourn.core.errors import BadConfig, BadInput, Conflict, NotFound, StoreReadOnly
from sojourn.dashboard.plugin_folders import PluginFolder, find_folders
from sojourn.dashboard.plugin_manifest import NAME, parse_manifest
from sojourn.ports.app import PluginAccess
from sojourn.ports.pages import Manifest
from sojourn.ports.plugin import Plugin

State = Literal["on", "off", "asks", "broken"]  # asks: it needs more than was agreed to, and is off until then


@dataclass(frozen=True, slots=True)
class Consents:
    """What was agreed to in this home."""

    home: Path

    def agreed(self, name: str) -> frozenset[str] | None:
        """The needs a person agreed to; None when the plugin is off. BadConfig when that cannot be known."""
        file = self._file(name)
        try:
            return frozenset(str(need) for need in json.loads(file.read_text("utf-8"))["needs"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadConfig(
                f"{file} cannot be read: {error}.", hint=f"Remove it, then `sojourn plugins enable {name}`."
            ) from error

    def state(self, folder: PluginFolder) -> State:
        """Whether a plugin may run. BadConfig as above."""
        if folder.manifest is None:
            return "broken"
        agreed = self.agreed(folder.name)
        if agreed is None:
            return "off"
        return "on" if agreed.issuperset(folder.manifest.needs) else "asks"

    def give(self, name: str, needs: Sequence[str]) -> None:
        """Turns it on. The file appears whole or not at all."""
        file = self._file(name)
        fresh = file.with_name(f".{name}.{os.getpid()}")
        told = {"needs": list(needs), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_text(json.dumps(told) + "\n", "utf-8")
            fresh.replace(file)
        except OSError as error:
            raise _unwritable(file, error) from error

    def take_back(self, name: str) -> bool:
        """Turns it off; whether it was on."""
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unwritable(self._file(name), error) from error
        return True

    def _file(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise BadConfig(f"{name!r} cannot be the name of a plugin.", hint="Use a-z, 0-9, - and _.")
        return self.home / "plugins-enabled" / f"{name}.json"


def _unwritable(file: Path, error: OSError) -> StoreReadOnly:
    return StoreReadOnly(f"{file} cannot be written: {error.strerror}.", hint="Check the permissions of the home.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """A plugin with a page, as the application and the command line show it."""

    name: str
    state: State
    manifest: Manifest | None
    built_in: bool = False
    problem: str = ""
    hint: str = ""


class InstalledPages:
    """The dashboard plugins of a home, for the command line."""

    def __init__(self, app: PluginAccess) -> None:
        self._app = app

    def list_pages(self) -> list[PageState]:
        return list_pages(self._app)

    def find_page(self, name: str) -> PageState:
        return find_third_party(self._app, name)

    def enable(self, name: str, needs: Sequence[str] | None = None) -> PageState:
        return turn_on(self._app, name, needs)

    def disable(self, name: str) -> bool:
        return turn_off(self._app, name)


def list_pages(app: PluginAccess) -> list[PageState]:
    """Every plugin with a manifest: ours first, then those in the home, whatever state they are in."""
    plugins = app.plugins()
    ours = [_built_in_page(one) for one in plugins if one.manifest]
    consents = Consents(app.settings.home)
    folders = find_folders(app.settings.home, {one.name for one in plugins})
    return ours + [_third_party_page(consents, folder) for folder in folders]


def _built_in_page(plugin: Plugin) -> PageState:
    """The same door: its manifest is read as strictly as any other. Its page is part of the application."""
    try:
        made = parse_manifest(dict(plugin.manifest), name=plugin.name, file=f"the manifest of {plugin.name}")
    except BadInput as error:
        return PageState(
            name=plugin.name, state="broken", manifest=None, built_in=True, problem=str(error), hint=error.hint
        )
    return PageState(name=plugin.name, state="on", manifest=made, built_in=True)


def _third_party_page(consents: Consents, folder: PluginFolder) -> PageState:
    try:
        state, problem, hint = consents.state(folder), folder.problem, folder.hint
    except BadConfig as error:
        state, problem, hint = "broken", str(error), error.hint
    return PageState(name=folder.name, state=state, manifest=folder.manifest, problem=problem, hint=hint)


def turn_on(app: PluginAccess, name: str, needs: Sequence[str] | None = None) -> PageState:
    """`needs`: what the person was shown; if it declares something else by now, nothing is turned on. Conflict."""
    one = find_third_party(app, name)
    if one.manifest is None:
        raise BadInput(one.problem, hint=one.hint)
    if needs is not None and set(needs) != set(one.manifest.needs):
        raise Conflict(f'The plugin "{name}" has changed what it needs.', hint="Look again, then decide.")
    Consents(app.settings.home).give(name, one.manifest.needs)
    return find_third_party(app, name)


def turn_off(app: PluginAccess, name: str) -> bool:
    """Whether it was on. A plugin that was removed from the disk can be turned off too."""
    was_on = bool(NAME.fullmatch(name)) and Consents(app.settings.home).take_back(name)
    if not was_on:
        find_third_party(app, name)
    return was_on


def find_third_party(app: PluginAccess, name: str) -> PageState:
    for one in list_pages(app):
        if one.name == name:
            if one.built_in:
                raise BadInput(f'"{name}" is built in, and always on.', hint="Others can be turned on and off.")
            return one
    raise NotFound(f'There is no dashboard plugin "{name}".', hint="`sojourn plugins` shows what there is.")
