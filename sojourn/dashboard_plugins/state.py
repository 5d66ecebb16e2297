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
from sojourn.dashboard_plugins.folders import PluginFolder, find_folders
from sojourn.dashboard_plugins.manifest import NAME, Manifest, parse_manifest
from sojourn.ports.app import PluginAccess
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
        consent = {"needs": list(needs), "at": datetime.now(UTC).isoformat(timespec="seconds")}
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh.write_text(json.dumps(consent) + "\n", "utf-8")
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
    """The dashboard plugins of a home: built-in ones, and those in the folder `plugins`."""

    def __init__(self, app: PluginAccess) -> None:
        self._app, self._consents = app, Consents(app.settings.home)

    def list_pages(self) -> list[PageState]:
        """Every plugin with a manifest, in any state, built-in ones first."""
        plugins = self._app.plugins()
        folders = find_folders(self._app.settings.home, {one.name for one in plugins})
        return [_built_in_page(one) for one in plugins if one.manifest] + [self._to_page(one) for one in folders]

    def _to_page(self, folder: PluginFolder) -> PageState:
        try:
            state, problem, hint = self._consents.state(folder), folder.problem, folder.hint
        except BadConfig as error:
            state, problem, hint = "broken", str(error), error.hint
        return PageState(name=folder.name, state=state, manifest=folder.manifest, problem=problem, hint=hint)

    def find_page(self, name: str) -> PageState:
        """The third-party plugin of that name. NotFound; BadInput for a built-in one."""
        for one in self.list_pages():
            if one.name == name:
                if one.built_in:
                    raise BadInput(f'"{name}" is built in, and always on.', hint="Others can be turned on and off.")
                return one
        raise NotFound(f'There is no dashboard plugin "{name}".', hint="`sojourn plugins` shows what there is.")

    def enable(self, name: str, needs: Sequence[str] | None = None) -> PageState:
        """Turns a plugin on. `needs`: what the person was shown; Conflict if it needs something else by now."""
        one = self.find_page(name)
        if one.manifest is None:
            raise BadInput(one.problem, hint=one.hint)
        if needs is not None and set(needs) != set(one.manifest.needs):
            raise Conflict(f'The plugin "{name}" has changed what it needs.', hint="Look again, then decide.")
        self._consents.give(name, one.manifest.needs)
        return self.find_page(name)

    def disable(self, name: str) -> bool:
        """Turns a plugin off, even one that is no longer on the disk; False if it was off."""
        was_on = bool(NAME.fullmatch(name)) and self._consents.take_back(name)
        if not was_on:
            self.find_page(name)
        return was_on


def _built_in_page(plugin: Plugin) -> PageState:
    """The page of a built-in plugin, whose manifest is read as strictly as any other."""
    try:
        manifest = parse_manifest(dict(plugin.manifest), name=plugin.name, file=f"the manifest of {plugin.name}")
    except BadInput as error:
        return PageState(
            name=plugin.name, state="broken", manifest=None, built_in=True, problem=str(error), hint=error.hint
        )
    return PageState(name=plugin.name, state="on", manifest=manifest, built_in=True)
