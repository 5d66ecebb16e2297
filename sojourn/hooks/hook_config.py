"""Our hooks in the configuration of other programs: planned, shown, written, and taken out again.

Only our entries differ between before and after, as with the entry of our MCP server, whose rules these are.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.core.settings import Settings
from sojourn.hooks.hook_input import LABELS
from sojourn.mcp_server.json_text import parse_json_text, put_member, remove_member
from sojourn.mcp_server.program_config import ConfigChange, read_config

_MODULE = "sojourn.hooks"
_SECTION = "hooks"
_GRACE_SECONDS = 20  # that a program waits longer for its hook than the hook waits for a person
_PLUGIN_FIRST_LINE = "// Written by `sojourn hooks install opencode`"
# Tools of Gemini CLI that only look: its hook is called for every tool, asked about or not.
_GEMINI_MATCHER = (
    "^(?!(read_file|read_many_files|list_directory|glob|grep_search|search_file_content|get_internal_docs|"
    "write_todos|update_topic|ask_user|activate_skill|complete_task|enter_plan_mode|exit_plan_mode)$).*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookProgram:
    """A program that calls hooks: where it reads them, and which ones we need, each with its entry."""

    name: str
    locate: Callable[[Settings], Path]
    build_entries: Callable[[str, int], dict[str, dict[str, Any]]]  # of our command and the seconds of a question
    after_install: str = ""  # what the person has to do next

    @property
    def label(self) -> str:
        return LABELS[self.name]


def _to_entry(command: str, timeout: int, **more: Any) -> dict[str, Any]:
    return {**more, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _build_claude(command: str, seconds: int) -> dict[str, dict[str, Any]]:
    return {
        "PermissionRequest": _to_entry(command, seconds + _GRACE_SECONDS, matcher="*"),
        "Notification": _to_entry(command, _GRACE_SECONDS),
    }


def _build_codex(command: str, seconds: int) -> dict[str, dict[str, Any]]:
    return {
        "PermissionRequest": _to_entry(command, seconds + _GRACE_SECONDS),
        "Stop": _to_entry(command, _GRACE_SECONDS),
    }


def _build_gemini(command: str, seconds: int) -> dict[str, dict[str, Any]]:
    return {
        "BeforeTool": _to_entry(command, (seconds + _GRACE_SECONDS) * 1000, matcher=_GEMINI_MATCHER),
        "Notification": _to_entry(command, _GRACE_SECONDS * 1000),
        "AfterAgent": _to_entry(command, _GRACE_SECONDS * 1000),
    }


def _locate_claude(settings: Settings) -> Path:
    return Path(settings.places.get("CLAUDE_CONFIG_DIR") or settings.user_home / ".claude") / "settings.json"


def _locate_codex(settings: Settings) -> Path:
    return Path(settings.places.get("CODEX_HOME") or settings.user_home / ".codex") / "hooks.json"


def _locate_opencode(settings: Settings) -> Path:
    folder = Path(settings.places.get("XDG_CONFIG_HOME") or settings.user_home / ".config")
    return folder / "opencode" / "plugin" / "sojourn.js"


PROGRAMS = {
    one.name: one
    for one in (
        HookProgram(name="claude", locate=_locate_claude, build_entries=_build_claude),
        HookProgram(
            name="codex",
            locate=_locate_codex,
            build_entries=_build_codex,
            after_install="Codex asks you to review the hooks at its next start; until you trust them they do not run.",
        ),
        HookProgram(
            name="gemini",
            locate=lambda settings: settings.user_home / ".gemini" / "settings.json",
            build_entries=_build_gemini,
            after_install="A hook of Gemini CLI can refuse, but not allow: after your yes its own rules still apply.",
        ),
        HookProgram(name="opencode", locate=_locate_opencode, build_entries=lambda *_: {}),
    )
}


def build_words(program: HookProgram, settings: Settings, seconds: int) -> list[str]:
    """The command of the hook. `-EP`: nothing of the folder in which the program runs is imported."""
    home = str(settings.home.absolute())
    return [sys.executable, "-EP", "-m", _MODULE, program.name, "--home", home, "--seconds", str(seconds)]


def plan_install(program: HookProgram, settings: Settings, seconds: int) -> ConfigChange:
    """The change that adds our hooks, or renews them. SourceUnreadable, BadInput, Conflict."""
    file, words = program.locate(settings), build_words(program, settings, seconds)
    before = read_config(file)
    if program.name == "opencode":
        _require_ours(file, before)
        return ConfigChange(file=file, before=before, after=_build_plugin(words))
    command = subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
    return ConfigChange(file=file, before=before, after=_replace_ours(file, before, program, command, seconds))


def plan_uninstall(program: HookProgram, settings: Settings) -> ConfigChange:
    """The change that takes our hooks out again. NotFound if there are none."""
    file = program.locate(settings)
    before = read_config(file)
    nothing = NotFound(f"{program.label} has no hook of ours.", hint=f"Nothing to take out of {file}.")
    if program.name == "opencode":
        if before is None:
            raise nothing
        _require_ours(file, before)
        return ConfigChange(file=file, before=before, after="")
    after = _replace_ours(file, before, program, "", 0)
    if after == (before or ""):
        raise nothing
    return ConfigChange(file=file, before=before, after=after)


def write_change(change: ConfigChange) -> None:
    """Writes it; a file of which nothing is left is removed."""
    change.write()
    if not change.after.strip():
        change.file.unlink(missing_ok=True)


def is_installed(program: HookProgram, settings: Settings) -> bool:
    return _MODULE in (read_config(program.locate(settings)) or "")


def _replace_ours(file: Path, before: str | None, program: HookProgram, command: str, seconds: int) -> str:
    """The text with our entries instead of those that were there; without a command, with none."""
    text, wanted = before or "", _parse(file, before)
    entries = program.build_entries(command, seconds) if command else {}
    present = _require_table(file, wanted.get(_SECTION))
    result = dict(present)
    for event in dict.fromkeys([*present, *entries]):
        old = present.get(event, [])
        if not isinstance(old, list):
            continue  # a setting beside the events
        new = [one for one in old if not _is_ours(one)] + ([entries[event]] if event in entries else [])
        if new == old:
            continue
        if new:
            text, result[event] = put_member(text, (_SECTION, event), new), new
        else:
            text = remove_member(text, (_SECTION, event))
            del result[event]
    _require_same(file, text, {**wanted, _SECTION: result})
    return text


def _is_ours(entry: Any) -> bool:
    return _MODULE in json.dumps(entry)


def _parse(file: Path, text: str | None) -> dict[str, Any]:
    if not (text or "").strip("\ufeff \t\r\n"):
        return {}
    try:
        return _require_table(file, parse_json_text(text or "").value)
    except BadInput as error:
        raise BadInput(f"{file} cannot be changed safely: {error}", hint="Add the hooks by hand.") from error


def _require_table(file: Path, value: Any) -> dict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise BadInput(f"{file} has something else where a table belongs.", hint="Correct it by hand.")
    return dict(value or {})


def _require_same(file: Path, text: str, wanted: Mapping[str, Any]) -> None:
    without_empty = {name: value for name, value in wanted.items() if value != {}}
    found = {name: value for name, value in _parse(file, text).items() if value != {}}
    if found != without_empty:
        raise BadInput(f"{file} cannot be changed without changing more.", hint="Change the hooks by hand.")


def _require_ours(file: Path, text: str | None) -> None:
    if text is not None and not text.startswith(_PLUGIN_FIRST_LINE):
        raise Conflict(f"{file} was not written by Sojourn.", hint="Move it away first.")


def _build_plugin(words: list[str]) -> str:
    """opencode's plugin: it has no hooks that are commands, so a small program of ours calls one."""
    body = files("sojourn.hooks").joinpath("opencode_plugin.js").read_text("utf-8")
    return f"{_PLUGIN_FIRST_LINE}\n{body}".replace('["COMMAND"]', json.dumps(words))
