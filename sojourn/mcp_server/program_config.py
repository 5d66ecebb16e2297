"""The configuration of other programs: which file names MCP servers, and our entry in it.

A change is planned first, so that it can be shown. Only our entry differs between before and after: that is checked
by reading both texts, and a file that another program changed meanwhile is not written.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import tomlkit

from sojourn.core.errors import BadInput, Conflict, NotFound, SourceUnreadable
from sojourn.core.settings import Settings
from sojourn.mcp_server.json_text import parse_json_text, put_member, remove_member
from sojourn.text.redaction import redact

T = TypeVar("T")
SERVER_NAME = "sojourn"
MAX_CONFIG_BYTES = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that can use MCP servers: where it looks for them, and how one is written there."""

    name: str
    label: str
    section: str
    locate: Callable[[Settings], Path]
    entry: Callable[[Sequence[str]], dict[str, Any]]


def _locate_claude(settings: Settings) -> Path:
    return Path(settings.places.get("CLAUDE_CONFIG_DIR") or settings.user_home) / ".claude.json"


def _locate_codex(settings: Settings) -> Path:
    return Path(settings.places.get("CODEX_HOME") or settings.user_home / ".codex") / "config.toml"


def _locate_gemini(settings: Settings) -> Path:
    return settings.user_home / ".gemini" / "settings.json"


def _locate_opencode(settings: Settings) -> Path:
    folder = Path(settings.places.get("XDG_CONFIG_HOME") or settings.user_home / ".config") / "opencode"
    names = ("opencode.json", "opencode.jsonc")
    return next((folder / name for name in names if (folder / name).exists()), folder / names[0])


def _to_entry(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


PROGRAMS = {
    one.name: one
    for one in (
        Program(
            name="claude",
            label="Claude Code",
            section="mcpServers",
            locate=_locate_claude,
            entry=lambda command: {"type": "stdio", **_to_entry(command)},
        ),
        Program(name="codex", label="Codex", section="mcp_servers", locate=_locate_codex, entry=_to_entry),
        Program(name="gemini", label="Gemini CLI", section="mcpServers", locate=_locate_gemini, entry=_to_entry),
        Program(
            name="opencode",
            label="opencode",
            section="mcp",
            locate=_locate_opencode,
            entry=lambda command: {"type": "local", "command": list(command), "enabled": True},
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """A planned change of one file."""

    file: Path
    before: str | None  # None: there is no such file
    after: str

    @property
    def is_empty(self) -> bool:
        return (self.before or "") == self.after

    def describe(self) -> str:
        """The lines that go and come, without what surrounds them: a neighbour's entry may hold a secret."""
        lines = difflib.unified_diff((self.before or "").splitlines(), self.after.splitlines(), lineterm="", n=0)
        shown = [redact(line) for line in lines if not line.startswith(("---", "+++"))]
        return "\n".join([f"{self.file}{'' if self.before is not None else ' (new)'}", *shown])

    def write(self) -> None:
        """Replaces the file as a whole, with the rights it had. Conflict if it was changed since the plan was made."""
        target = self.file.resolve()
        if read_config(target) != self.before:
            raise Conflict(f"{self.file} was changed meanwhile.", hint="Run the command again.")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(self.after.encode())
            if self.before is not None:
                Path(part).chmod(target.stat().st_mode & 0o777)
            Path(part).replace(target)
        except BaseException:
            Path(part).unlink(missing_ok=True)
            raise


def build_command(settings: Settings) -> list[str]:
    """How another program starts our server: with this interpreter, and this home unless it is the usual one. `-P`:
    nothing of the folder in which it is started is imported."""
    home = [] if settings.origins.get("home") == "default" else ["--home", str(settings.home)]
    return [sys.executable, "-P", "-m", "sojourn", *home, "mcp"]


def plan_install(program: Program, settings: Settings) -> ConfigChange:
    """The change that puts our server into a program's configuration. SourceUnreadable, BadInput."""
    file, entry = program.locate(settings), program.entry(build_command(settings))
    before = read_config(file)
    path = (program.section, SERVER_NAME)
    with_entry = _put_toml if file.suffix == ".toml" else put_member
    after = _edit(file, before or "", lambda text: with_entry(text, path, entry))
    wanted = _parse(file, before or "")
    wanted[program.section] = {**_require_table(file, wanted.get(program.section)), SERVER_NAME: entry}
    _require_same(file, after, wanted)
    return ConfigChange(file=file, before=before, after=after)


def plan_uninstall(program: Program, settings: Settings) -> ConfigChange:
    """The change that takes our server out again. NotFound if it is not there."""
    file = program.locate(settings)
    before = read_config(file)
    servers = _require_table(file, _parse(file, before or "").get(program.section))
    if before is None or SERVER_NAME not in servers:
        raise NotFound(f"{program.label} does not know our server.", hint=f"Nothing to take out of {file}.")
    path = (program.section, SERVER_NAME)
    without = _remove_toml if file.suffix == ".toml" else remove_member
    after = _edit(file, before, lambda text: without(text, path))
    wanted = _parse(file, before)
    del wanted[program.section][SERVER_NAME]
    _require_same(file, after, wanted)
    return ConfigChange(file=file, before=before, after=after)


def read_config(file: Path) -> str | None:
    """A configuration as it is; None if there is none. SourceUnreadable."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_CONFIG_BYTES + 1)
        if len(data) > MAX_CONFIG_BYTES:
            raise SourceUnreadable(f"{file} is too large.", hint="Add the server by hand.")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SourceUnreadable(
            f"{file} cannot be read: {error}.", hint="Correct it first; nothing was changed."
        ) from error


def _edit(file: Path, text: str, change: Callable[[str], T]) -> T:
    try:
        return change(text)
    except (BadInput, ValueError) as error:
        raise BadInput(f"{file} cannot be changed safely: {error}", hint="Add the server by hand.") from error


def _parse(file: Path, text: str) -> dict[str, Any]:
    if file.suffix == ".toml":
        found: Any = _edit(file, text, tomllib.loads)
    else:
        found = _edit(file, text, lambda all: parse_json_text(all).value) if text.strip("\ufeff \t\r\n") else {}
    return _require_table(file, found)


def _require_table(file: Path, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(f"{file} has something else where a table belongs.", hint="Correct it by hand.")
    return dict(value)


def _require_same(file: Path, text: str, wanted: Mapping[str, Any]) -> None:
    empty: dict[str, Any] = {name: {} for name, value in wanted.items() if value == {}}  # it may be left away
    if empty | _parse(file, text) != wanted:
        raise BadInput(f"{file} cannot be changed without changing more.", hint="Change the entry by hand.")


def _put_toml(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The text with a table at its end."""
    text, newline = _remove_toml(text, path), _newline_of(text)
    gap = "" if not text else newline if text.endswith("\n") else 2 * newline
    table = f"[{'.'.join(path)}]\n{tomlkit.dumps(value)}"
    return text + gap + table.replace("\n", newline)


def _remove_toml(text: str, path: Sequence[str]) -> str:
    """The text without the lines of a table; comments and empty lines behind them belong to what follows."""
    section, name = map(re.escape, path)
    header = re.compile(rf"""\s*\[\s*{section}\s*\.\s*(["']?){name}\1\s*[].]""")
    lines, kept, at = text.splitlines(keepends=True), list[str](), 0
    while at < len(lines):
        if not header.match(lines[at]):
            kept.append(lines[at])
            at += 1
            continue
        end = next((n for n in range(at + 1, len(lines)) if lines[n].lstrip().startswith("[")), len(lines))
        while end > at + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        if kept and not kept[-1].strip() and not "".join(lines[end : end + 1]).strip():
            kept.pop()  # the empty line that set it apart
        at = end
    return "".join(kept)


def _newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
