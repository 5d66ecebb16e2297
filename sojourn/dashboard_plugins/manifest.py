"""A dashboard plugin's `manifest.json` as a value, read strictly: a mistake is told with its file and its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from sojourn.core.errors import BadInput

# What a plugin may need, and what agreeing to it means.
NEEDS = {
    "backend": "Runs a program of its own on this machine.",  # needed by every plugin with an `api`
    "sessions:read": "Its page may list and read your sessions.",
    "network": "Its program may reach other machines.",
    "files": "Its program may read and change your files, beyond its own folder.",
}
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_PATH = re.compile(r"/[a-z0-9][a-z0-9_-]{0,63}")
_POSITION = re.compile(r"end|(after|before):[a-z0-9][a-z0-9_-]{0,63}")
_ICON = re.compile(r"[A-Za-z0-9-]{1,40}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_FIELDS = ("name", "label", "description", "icon", "version", "tab", "entry", "css", "api", "needs")
_TAB_FIELDS = ("path", "position")
_SUFFIXES = {"entry": (".js", ".mjs"), "css": (".css",), "api": (".py",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A plugin's `manifest.json`: the tab of its page, and its program if it has one."""

    name: str
    label: str
    path: str  # of its tab, e.g. /garden
    position: str = "end"  # or after:<page>, before:<page>
    description: str = ""
    icon: str = "Puzzle"
    version: str = "0.0.0"
    entry: str = "dist/index.js"  # files, relative to the folder of the manifest
    css: str = ""
    api: str = ""
    declared: tuple[str, ...] = ()  # `needs` as written

    @property
    def needs(self) -> tuple[str, ...]:
        """What a person agrees to by turning it on."""
        wanted = {*self.declared, *(("backend",) if self.api else ())}
        return tuple(need for need in NEEDS if need in wanted)


def parse_manifest(raw: object, *, name: str, file: str) -> Manifest:
    """The manifest of the plugin in a folder called `name`. BadInput says what is wrong, and where."""
    fields = _Fields(_table(raw, file, ""), file)
    fields.refuse_mistyped(_FIELDS)
    tab = _Fields(_table(fields.raw.get("tab", {}), file, "tab"), file, "tab.")
    tab.refuse_mistyped(_TAB_FIELDS)
    if (written := fields.text("name", name, 64)) != name:
        raise fields.wrong("name", f"is {written!r}, but its folder is called {name!r}", "Give both the same name.")
    return Manifest(
        name=name,
        label=fields.text("label", name, 40) or name,
        description=fields.text("description", "", 500),
        icon=fields.shaped("icon", "Puzzle", _ICON, "The name of a Lucide icon, e.g. Puzzle."),
        version=fields.text("version", "0.0.0", 40),
        path=tab.shaped("path", f"/{name}", _PATH, "One word behind a slash, in small letters: /garden."),
        position=tab.shaped("position", "end", _POSITION, "Use end, after:sessions or before:sessions."),
        entry=fields.path("entry", "dist/index.js"),
        css=fields.path("css", ""),
        api=fields.path("api", ""),
        declared=fields.needs(),
    )


def _table(raw: object, file: str, field: str) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        what = f"`{field}`" if field else "the whole"
        raise BadInput(f"{file}: {what} must be an object, not {_kind(raw)}.", hint='Write it as {"key": "value"}.')
    return raw


@dataclass(frozen=True, slots=True)
class _Fields:
    """One object of the file, whose fields are asked for by name."""

    raw: Mapping[str, Any]
    file: str
    before: str = ""

    def wrong(self, field: str, why: str, hint: str) -> BadInput:
        return BadInput(f"{self.file}: `{self.before}{field}` {why}.", hint=hint)

    def refuse_mistyped(self, known: tuple[str, ...]) -> None:
        """Fields of other dashboards are passed over; one that is almost ours is a slip."""
        for field in self.raw:
            if field not in known and (near := get_close_matches(field, known, 1, 0.75)):
                raise self.wrong(field, "is not a field", f"Did you mean `{self.before}{near[0]}`?")

    def text(self, field: str, default: str, most: int) -> str:
        value = self.raw.get(field, default)
        if not isinstance(value, str):
            raise self.wrong(field, f"must be a text, not {_kind(value)}", "Put it in quotes.")
        if len(value) > most:
            raise self.wrong(field, f"has {len(value)} characters", f"At most {most}.")
        if _CONTROL.search(value):
            raise self.wrong(field, "has invisible characters", "Use plain words.")
        return value.strip()

    def shaped(self, field: str, default: str, shape: re.Pattern[str], hint: str) -> str:
        value = self.text(field, default, 200)
        if not shape.fullmatch(value):
            raise self.wrong(field, f"is {value!r}", hint)
        return value

    def path(self, field: str, default: str) -> str:
        value = self.text(field, default, 200)
        if value and not is_inside(value):
            raise self.wrong(field, f"is {value!r}, which leads out of its folder", "Name a file beside manifest.json.")
        if value and not value.endswith(_SUFFIXES[field]):
            raise self.wrong(field, f"is {value!r}", f"It must end in {' or '.join(_SUFFIXES[field])}.")
        if field == "entry" and not value:
            raise self.wrong(field, "is empty", "Name the script of the page.")
        return value

    def needs(self) -> tuple[str, ...]:
        value = self.raw.get("needs", [])
        if not isinstance(value, list):
            raise self.wrong("needs", f"must be a list, not {_kind(value)}", 'E.g. ["sessions:read"].')
        for at, need in enumerate(value):
            if not isinstance(need, str) or need not in NEEDS:
                raise self.wrong(f"needs[{at}]", f"is {need!r}", f"A plugin may need: {', '.join(NEEDS)}.")
        return tuple(dict.fromkeys(value))


def is_inside(path: str) -> bool:
    """Whether a relative path stays where it begins, with no hidden part and no way up."""
    parts = path.split("/")
    plain = not re.search(r"[\\:\x00-\x1f]", path) and not PurePosixPath(path).is_absolute()
    return plain and all(part and not part.startswith(".") for part in parts)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
