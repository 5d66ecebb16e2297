"""What is on the shelf: every plugin with a page, its state, and turning it on and off. Needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn.core.errors import BadConfig, BadInput, Conflict, NotFound
from sojourn.dashboard.consents import Consents, State
from sojourn.dashboard.plugin_folders import Folder, find_all
from sojourn.dashboard.plugin_manifest import NAME, parse_manifest
from sojourn.ports.app import PluginAccess
from sojourn.ports.pages import Manifest
from sojourn.ports.plugin import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
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

    def list_pages(self) -> list[Listed]:
        return listed(self._app)

    def find_page(self, name: str) -> Listed:
        return third_party(self._app, name)

    def enable(self, name: str, needs: Sequence[str] | None = None) -> Listed:
        return turn_on(self._app, name, needs)

    def disable(self, name: str) -> bool:
        return turn_off(self._app, name)


def listed(kit: PluginAccess) -> list[Listed]:
    """Every plugin with a manifest: ours first, then those in the home, whatever state they are in."""
    plugins = kit.plugins()
    ours = [_built_in(one) for one in plugins if one.manifest]
    consents = Consents(kit.settings.home)
    folders = find_all(kit.settings.home, {one.name for one in plugins})
    return ours + [_state(consents, folder) for folder in folders]


def _built_in(plugin: Plugin) -> Listed:
    """The same door: its manifest is read as strictly as any other. Its page is part of the application."""
    try:
        made = parse_manifest(dict(plugin.manifest), name=plugin.name, file=f"the manifest of {plugin.name}")
    except BadInput as error:
        return Listed(
            name=plugin.name, state="broken", manifest=None, built_in=True, problem=str(error), hint=error.hint
        )
    return Listed(name=plugin.name, state="on", manifest=made, built_in=True)


def _state(consents: Consents, folder: Folder) -> Listed:
    try:
        state, problem, hint = consents.state(folder), folder.problem, folder.hint
    except BadConfig as error:
        state, problem, hint = "broken", str(error), error.hint
    return Listed(name=folder.name, state=state, manifest=folder.manifest, problem=problem, hint=hint)


def turn_on(kit: PluginAccess, name: str, needs: Sequence[str] | None = None) -> Listed:
    """`needs`: what the person was shown; if it declares something else by now, nothing is turned on. Conflict."""
    one = third_party(kit, name)
    if one.manifest is None:
        raise BadInput(one.problem, hint=one.hint)
    if needs is not None and set(needs) != set(one.manifest.needs):
        raise Conflict(f'The plugin "{name}" has changed what it needs.', hint="Look again, then decide.")
    Consents(kit.settings.home).give(name, one.manifest.needs)
    return third_party(kit, name)


def turn_off(kit: PluginAccess, name: str) -> bool:
    """Whether it was on. A plugin that was removed from the disk can be turned off too."""
    was_on = bool(NAME.fullmatch(name)) and Consents(kit.settings.home).take_back(name)
    if not was_on:
        third_party(kit, name)
    return was_on


def third_party(kit: PluginAccess, name: str) -> Listed:
    for one in listed(kit):
        if one.name == name:
            if one.built_in:
                raise BadInput(f'"{name}" is built in, and always on.', hint="Others can be turned on and off.")
            return one
    raise NotFound(f'There is no dashboard plugin "{name}".', hint="`sojourn plugins` shows what there is.")
