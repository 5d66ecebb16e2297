"""What the hook of a program gets on its standard input, and what it answers on its standard output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

LABELS = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "opencode"}
MAX_DETAIL_CHARS = 200_000  # a call that nobody can read is not asked about here
_TERMINAL_TOOLS = ("AskUserQuestion",)  # a yes alone is no answer to them
_QUESTION_EVENTS = ("PermissionRequest", "BeforeTool")
_IDLE_EVENTS = ("Stop", "AfterAgent", "SessionIdle")
_NO_DETAIL = ("command", "description", "timeout")  # the command stands alone; a model describes it as it likes

EventKind = Literal["question", "waiting", "idle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One event of a program. `waiting`: it needs the person now; `idle`: it has ended its turn."""

    kind: EventKind
    program: str
    session: str  # the program's own id
    folder: str = ""
    tool: str = ""
    detail: str = ""  # exactly what will run
    text: str = ""  # what it waits for
    transcript: str = ""  # the file that grows when the session goes on

    @property
    def label(self) -> str:
        return LABELS[self.program]

    @property
    def place(self) -> str:
        """The folder as a person names it."""
        return PurePath(self.folder).name or self.folder or "a folder without a name"


def parse_event(program: str, given: Any) -> HookEvent | None:
    """The event that concerns us, if it is one."""
    if not isinstance(given, Mapping):
        return None
    name = str(given.get("hook_event_name", ""))
    common: dict[str, str] = {
        "program": program,
        "session": str(given.get("session_id", ""))[:200],
        "folder": str(given.get("cwd", ""))[:4000],
        "transcript": str(given.get("transcript_path") or "")[:4000],
    }
    tool, arguments = str(given.get("tool_name", ""))[:200], given.get("tool_input")
    if name in _QUESTION_EVENTS and tool in _TERMINAL_TOOLS:
        return HookEvent(kind="waiting", text="asks you something in its terminal", **common)
    if name in _QUESTION_EVENTS and tool:
        detail = describe_call(arguments)
        if len(detail) > MAX_DETAIL_CHARS:
            return HookEvent(kind="waiting", text=f"wants to use {tool}, and shows what for in its terminal", **common)
        return HookEvent(kind="question", tool=tool, detail=detail, **common)
    if name == "Notification" and _is_idle_notice(given):
        return HookEvent(kind="waiting", text="waits for you", **common)
    if name == "Notification" and given.get("notification_type") == "ToolPermission":
        return HookEvent(kind="waiting", text="asks for a permission in its terminal", **common)
    return HookEvent(kind="idle", text="has finished, and waits for you", **common) if name in _IDLE_EVENTS else None


def _is_idle_notice(given: Mapping[str, Any]) -> bool:
    kind = given.get("notification_type")
    return kind == "idle_prompt" or (kind is None and "waiting for your input" in str(given.get("message", "")))


def describe_call(arguments: Any) -> str:
    """A call as it will run: the command alone, with whatever else it is given; else all arguments."""
    if isinstance(arguments, Mapping) and isinstance(arguments.get("command"), str):
        rest = {name: value for name, value in arguments.items() if name not in _NO_DETAIL}
        command = str(arguments["command"])
        return f"{command}\n{_dump(rest)}" if rest else command
    return _dump(arguments)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def render_answer(program: str, given: Any, choice: str, why: str) -> str:
    """The decision on a question as the program reads it; anything but a clear yes is a no."""
    allowed = choice == "once"
    if program == "opencode":
        return json.dumps({"reply": "once" if allowed else "reject", "message": why})
    if program == "gemini":  # it has no word for yes: its own rules come next
        return "{}" if allowed else json.dumps({"decision": "deny", "reason": why})
    decision = {"behavior": "allow"} if allowed else {"behavior": "deny", "message": why}
    event = str(given.get("hook_event_name")) if isinstance(given, Mapping) else "PermissionRequest"
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "decision": decision}})
