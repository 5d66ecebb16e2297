"""Small histories of editors' agents and of Crush, written by hand after their formats."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.importers.cline import ClineImporter, RooImporter
from sojourn.importers.continue_dev import ContinueImporter
from sojourn.importers.crush import CrushImporter
from sojourn.ports.importer import Importer
from sojourn.testing.importer_contract import ImporterHistory
from tests.contracts.written_exports import START
from tests.contracts.written_homes import QUESTION, write_garbage

CALL = {"type": "tool_use", "id": "c1", "name": "run_commands", "input": {"commands": ["ls"]}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.py"}]}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def _say(number: int, role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "content": list(blocks), "ts": (START + number) * 1000}


def _tasks(user_home: Path, importer: Importer, extension: str) -> ImporterHistory:
    root = user_home / ".config" / "Code" / "User" / "globalStorage" / extension / "tasks"

    def talk(number: int) -> tuple[Path, list[dict[str, Any]]]:
        path = root / f"177235920{number}" / "api_conversation_history.json"
        details = {"type": "text", "text": "<environment_details>\nTime\n</environment_details>"}
        listed = [
            _say(number, "user", {"type": "text", "text": f"<task>\n{QUESTION}\n</task>"}, details),
            _say(number, "assistant", {"type": "thinking", "thinking": "I look."}, CALL),
            _say(number, "user", RESULT, details),
            _say(number, "assistant", {"type": "text", "text": "One."}),
        ]
        item = {
            "id": path.parent.name,
            "ts": START * 1000,
            "task": QUESTION,
            "tokensIn": 30,
            "tokensOut": 3,
            "totalCost": 0.5,
        }
        _write(path, listed)
        _write(path.with_name("history_item.json"), {**item, "workspace": "/home/alex/project"})
        return path, listed

    talks = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        path, listed = talks[2]
        _write(path, [*listed, _say(9, "user", {"type": "text", "text": "Thanks"})])
        return 1

    roles = {"user": 3, "assistant": 6, "tool": 3, "system": 6}
    return ImporterHistory(
        importer=importer, user_home=user_home, sessions=3, roles=roles, grow=grow, spoil=write_garbage(talks[0][0])
    )


def roo(user_home: Path) -> ImporterHistory:
    return _tasks(user_home, RooImporter(), "rooveterinaryinc.roo-cline")


def cline(user_home: Path) -> ImporterHistory:
    root = user_home / ".cline" / "data" / "sessions"

    def talk(number: int) -> tuple[Path, dict[str, Any]]:
        own = f"cline-{number}"
        listed = [
            _say(number, "user", {"type": "text", "text": QUESTION}),
            _say(number, "assistant", CALL),
            _say(number, "user", RESULT),
            _say(number, "assistant", {"type": "text", "text": "One."}),
        ]
        _write(root / own / f"{own}.json", {"session_id": own, "cwd": "/w", "workspace_root": "/home/alex/project",
               "started_at": f"2026-03-0{number}T10:00:00Z", "metadata": {"title": f"Files {number}"}})  # fmt: skip
        document = {"agent": "lead", "messages": listed}
        _write(root / own / f"{own}.messages.json", document)
        return root / own / f"{own}.messages.json", document

    talks = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        path, document = talks[2]
        more = _say(9, "user", {"type": "text", "text": "Thanks"})
        _write(path, {**document, "messages": [*document["messages"], more]})
        return 1

    return ImporterHistory(
        importer=ClineImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(talks[0][0]),
    )  # fmt: skip


def continue_dev(user_home: Path) -> ImporterHistory:
    root = user_home / ".continue" / "sessions"

    def talk(number: int) -> tuple[Path, dict[str, Any]]:
        call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
        state = {"toolCallId": "c1", "status": "done", "output": [{"name": "ls", "content": "a.py"}]}
        used = {"promptTokens": 20, "completionTokens": 2}
        history = [
            {"message": {"role": "user", "content": QUESTION}, "contextItems": []},
            {"message": {"role": "assistant", "content": "", "toolCalls": [call]}, "toolCallStates": [state]},
            {"message": {"role": "assistant", "content": "One.", "usage": used}, "contextItems": []},
        ]
        head = {"sessionId": f"cn-{number}", "title": f"Files {number}", "workspaceDirectory": "/home/alex/project"}
        document = {**head, "chatModelTitle": "m-1", "history": history}
        _write(root / f"cn-{number}.json", document)
        return root / f"cn-{number}.json", document

    talks = [talk(number) for number in (1, 2, 3)]
    _write(
        root / "sessions.json", [{"sessionId": f"cn-{n}", "dateCreated": str(int(START + n) * 1000)} for n in (1, 2, 3)]
    )

    def grow() -> int:
        path, document = talks[2]
        more = {"message": {"role": "user", "content": "Thanks"}, "contextItems": []}
        _write(path, {**document, "history": [*document["history"], more]})
        return 1

    return ImporterHistory(
        importer=ContinueImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(talks[0][0]),
    )  # fmt: skip


def crush(user_home: Path) -> ImporterHistory:
    project, other = user_home / "project" / ".crush", user_home / "other" / ".crush"
    project.mkdir(parents=True)
    listed = {"projects": [{"path": str(one.parent), "data_dir": str(one)} for one in (project, other)]}
    _write(user_home / ".local" / "share" / "crush" / "projects.json", listed)

    def add(number: int, at: int, role: str, *parts: tuple[str, dict[str, Any]]) -> None:
        text = json.dumps([{"type": kind, "data": data} for kind, data in parts])
        row = (f"m{number}{at}", f"crush-{number}", role, text, "m-1", "x", int(START) + number * 60 + at)
        db.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, 0)", row)

    with sqlite3.connect(project / "crush.db") as db:
        db.execute(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER, "
            "prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, created_at INTEGER, updated_at INTEGER)"
        )
        db.execute(
            "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, "
            "provider TEXT, created_at INTEGER, is_summary_message INTEGER)"
        )
        db.execute("CREATE TABLE files (id TEXT, session_id TEXT, path TEXT, content TEXT, version INTEGER)")
        for number in (1, 2, 3):
            head = (f"crush-{number}", None, f"Files {number}", 4, 25, 5, 0.125)
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*head, START + number, START + number)
            )
            call = {"id": "c1", "name": "bash", "input": '{"command": "ls"}', "finished": True}
            add(number, 1, "user", ("text", {"text": QUESTION}))
            add(number, 2, "assistant", ("reasoning", {"thinking": "I look."}), ("tool_call", call))
            add(number, 3, "tool", ("tool_result", {"tool_call_id": "c1", "name": "bash", "content": "a.py"}))
            add(number, 4, "assistant", ("text", {"text": "One."}), ("finish", {"reason": "end_turn"}))
    db.close()

    def grow() -> int:
        nonlocal db
        with sqlite3.connect(project / "crush.db") as db:
            add(3, 5, "user", ("text", {"text": "Thanks"}))
            db.execute("UPDATE sessions SET updated_at = updated_at + 60, message_count = 5 WHERE id = 'crush-3'")
        db.close()
        return 1

    return ImporterHistory(
        importer=CrushImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(other / "crush.db"),
    )  # fmt: skip


EDITED: dict[str, Callable[[Path], ImporterHistory]] = {
    "roo": roo,
    "cline": cline,
    "continue": continue_dev,
    "crush": crush,
}
