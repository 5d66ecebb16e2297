"""What programs call the same tool, and its arguments. A tool that a program lacks keeps its name and its arguments."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

_PATH = {"claude": "file_path", "gemini": "file_path", "qwen": "file_path", "opencode": "filePath"}
_EDIT = {"opencode": ("oldString", "newString"), "pi": ("oldText", "newText")}
# What a tool does: its name in each program. `shell` etc. are ours; only the names of programs are ever written.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "shell": {
        "claude": "Bash",
        "codex": "exec_command",
        "opencode": "bash",
        "pi": "bash",
        "gemini": "run_shell_command",
        "qwen": "run_shell_command",
        "hermes": "terminal",
    },
    "read": {
        "claude": "Read",
        "opencode": "read",
        "pi": "read",
        "gemini": "read_file",
        "qwen": "read_file",
        "hermes": "read_file",
    },
    "write": {
        "claude": "Write",
        "opencode": "write",
        "pi": "write",
        "gemini": "write_file",
        "qwen": "write_file",
        "hermes": "write_file",
    },
    "edit": {
        "claude": "Edit",
        "opencode": "edit",
        "pi": "edit",
        "gemini": "replace",
        "qwen": "edit",
        "hermes": "patch",
    },
    "search": {
        "claude": "Grep",
        "opencode": "grep",
        "pi": "grep",
        "gemini": "grep_search",
        "qwen": "grep_search",
        "hermes": "search_files",
    },
}
_ALIASES = {  # further names of the same tools
    **dict.fromkeys(("shell", "local_shell", "execute_command", "run_command", "shell_command"), "shell"),
    "search_file_content": "search",
    "edit_file": "edit",
}
_KINDS = _ALIASES | {name: kind for kind, names in _NAMES.items() for name in names.values()}


def translate_call(name: str, arguments: Mapping[str, Any], program: str) -> tuple[str, dict[str, Any]]:
    """A call as `program` would have made it."""
    kind = _KINDS.get(name, "")
    own = _NAMES.get(kind, {}).get(program)
    if own is None:
        return name, dict(arguments)
    names = dict(_list_argument_names(kind, program))
    found = {names.get(key, key): value for key, value in arguments.items()}
    key = names.get("command", "")
    if kind == "shell" and isinstance(found.get(key), list):
        words = [str(word) for word in found[key]]
        found[key] = words[2] if _is_shell(words) else shlex.join(words)
    return own, found


def _is_shell(words: list[str]) -> bool:
    return len(words) == 3 and words[1] in ("-c", "-lc") and words[0].rpartition("/")[2] in ("bash", "sh", "zsh")


def _list_argument_names(kind: str, program: str) -> Iterable[tuple[str, str]]:
    """What the arguments are called anywhere, and in this program."""
    if kind == "shell":
        own = "cmd" if program == "codex" else "command"
        yield from ((name, own) for name in ("cmd", "command"))
        return
    if kind in ("read", "write", "edit"):
        own = _PATH.get(program, "path")
        yield from ((name, own) for name in ("file_path", "filePath", "path", "absolute_path"))
    if kind == "edit":
        old, new = _EDIT.get(program, ("old_string", "new_string"))
        yield from ((name, old) for name in ("old_string", "oldString", "oldText"))
        yield from ((name, new) for name in ("new_string", "newString", "newText"))
