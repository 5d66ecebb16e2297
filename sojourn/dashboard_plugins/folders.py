"""The plugins in `<home>/plugins/`: each a folder with `dashboard/manifest.json`. One that is broken says so."""

from __future__ import annotations

import json
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import BadInput, NotFound, SojournError
from sojourn.dashboard_plugins.manifest import NAME, Manifest, is_inside, parse_manifest

MAX_MANIFEST_BYTES = 64 * 1024
# Where the application has pages; each of them is the same document, and the script shows the right one.
PAGE_PATHS = (
    "/",
    "/chat",
    "/chat/{session}",
    "/sessions",
    "/sessions/{session}",
    "/achievements",
    "/insights",
    "/templates",
    "/memory",
    "/gateway",
    "/gateway/{room}",
    "/settings",
    "/settings/{section}",
    "/import",
    "/schedules",
)
_OTHERS = (
    "/plugins",
    "/api",
    "/assets",
    "/enter",
    "/healthz",
    "/metrics",
    "/v1",
    "/dashboard-plugins",
    "/favicon",
    "/diagram-frame",
    "/service-worker.js",
)
TAKEN_TABS = frozenset((*PAGE_PATHS, *_OTHERS))  # addresses that a plugin's tab cannot have


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFolder:
    """A plugin as it lies on the disk. Without a manifest it is broken, and `problem` says how."""

    name: str
    place: Path  # where the manifest is; all its files are below
    manifest: Manifest | None = None
    problem: str = ""
    hint: str = ""


def find_folders(home: Path, taken: Collection[str] = ()) -> list[PluginFolder]:
    """Every plugin, by name. `taken` are the names of plugins that are built in or installed."""
    tabs: set[str] = set()
    found: list[PluginFolder] = []
    for one in _iterate_folders(home, taken):
        if one.manifest and one.manifest.path in tabs:
            path = one.manifest.path
            one = _broken(
                one.name,
                one.place,
                f"{one.place}/manifest.json: `tab.path` {path!r} is another plugin's.",
                "Give it a path of its own.",
            )
        elif one.manifest:
            tabs.add(one.manifest.path)
        found.append(one)
    return found


def _iterate_folders(home: Path, taken: Collection[str]) -> Iterator[PluginFolder]:
    shelf = home / "plugins"
    try:
        names = sorted(one.name for one in shelf.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        yield _broken("plugins", shelf, f"{shelf} cannot be read: {error.strerror}.", "Check its permissions.")
        return
    for name in names:
        if one := find_folder(home, name, taken):
            yield one


def find_folder(home: Path, name: str, taken: Collection[str] = ()) -> PluginFolder | None:
    """One plugin by the name of its folder; None when that folder holds none."""
    place = home / "plugins" / name / "dashboard"
    file = place / "manifest.json"
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise BadInput(f"{file} is not a file.", hint="It must be a text in JSON.")
        return PluginFolder(name=name, place=place, manifest=_read_manifest(file, name, taken))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except SojournError as error:
        return _broken(name, place, str(error), error.hint)
    except OSError as error:
        return _broken(name, place, f"{file} cannot be read: {error.strerror}.", "Check its permissions.")


def _broken(name: str, place: Path, problem: str, hint: str) -> PluginFolder:
    return PluginFolder(name=name, place=place, problem=problem, hint=hint)


def _read_manifest(file: Path, name: str, taken: Collection[str]) -> Manifest:
    if not NAME.fullmatch(name):
        raise BadInput(f"{file}: a folder called {name!r} cannot hold a plugin.", hint="Use a-z, 0-9, - and _.")
    if name in taken:
        raise BadInput(f'{file}: the name "{name}" belongs to a built-in plugin.', hint="Rename the folder.")
    with file.open("rb") as opened:
        raw = opened.read(MAX_MANIFEST_BYTES + 1)
    if len(raw) > MAX_MANIFEST_BYTES:
        raise BadInput(f"{file} is larger than {MAX_MANIFEST_BYTES} bytes.", hint="A manifest is a few lines.")
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is not JSON: {error}.", hint="Correct it there.") from error
    made = parse_manifest(values, name=name, file=str(file))
    if made.path in TAKEN_TABS:
        raise BadInput(f"{file}: `tab.path` {made.path!r} is a page of Sojourn.", hint="Give it a path of its own.")
    for field in ("entry", "css", "api"):
        if path := getattr(made, field):
            _require_file(file, field, path)
    return made


def _require_file(file: Path, field: str, path: str) -> None:
    try:
        resolve_inside(file.parent, path)
    except NotFound as error:
        hint = "Put the file itself there, or correct the name."
        raise BadInput(f"{file}: `{field}` is {path!r}, which is not there or is a link.", hint=hint) from error


def resolve_inside(place: Path, path: str) -> Path:
    """The file of that name below `place`. A link is refused, wherever it leads. NotFound."""
    if is_inside(path):
        try:
            root = place.resolve(strict=True)
            file = (root / path).resolve(strict=True)
            if file == root / path and file != root and stat.S_ISREG(file.lstat().st_mode):
                return file
        except (OSError, RuntimeError, ValueError):
            pass  # not there, a loop of links, or no name at all
    raise NotFound(f"There is no {path!r} here.", hint="Only files in the plugin's own folder are served.")
