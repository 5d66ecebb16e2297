"""Small exports and databases of other programs, written by hand after their formats."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.importers.chatgpt import ChatGptImporter
from sojourn.importers.claude_ai import ClaudeAiImporter
from sojourn.importers.cursor import CursorImporter
from sojourn.importers.goose import GooseImporter
from sojourn.importers.pi import PiImporter
from sojourn.testing.importer_contract import ImporterHistory
from tests.contracts.written_homes import MOMENT, QUESTION, write_garbage, write_lines

START = 1772359200.0  # 2026-03-01, 10:00


def _write_array(path: Path, records: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records), "utf-8")


def chatgpt(user_home: Path) -> ImporterHistory:
    path = user_home / "export" / "conversations.json"

    def talk(number: int) -> dict[str, Any]:
        def node(own: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
            content = {"content_type": "text", "parts": [text]}
            said = {
                "id": own,
                "author": {"role": role},
                "create_time": START + number,
                "content": content,
                "recipient": "all",
            }
            return {"id": own, "parent": parent, "children": [], "message": {**said, **more}}

        slug = {"metadata": {"model_slug": "gpt-5"}}
        nodes = [
            {"id": "root", "parent": None, "children": ["n1"], "message": None},
            node("n1", "root", "user", QUESTION),
            node("n2", "n1", "assistant", "ls", recipient="python", **slug),
            node("n3", "n2", "tool", "a.py"),
            node("n4", "n3", "assistant", "Two.", **slug),
            node("n5", "n3", "assistant", "One.", **slug),
        ]
        return {
            "conversation_id": f"chat-{number}",
            "title": f"Files {number}",
            "create_time": START + number,
            "update_time": START + number,
            "current_node": "n5",
            "mapping": {one["id"]: one for one in nodes},
        }

    talks = [talk(number) for number in (3, 2, 1)]  # the newest comes first
    _write_array(path, talks)

    def grow() -> int:
        more = {"id": "n6", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Thanks"]}}
        talks[0]["mapping"]["n6"] = {"id": "n6", "parent": "n5", "children": [], "message": more}
        talks[0]["current_node"] = "n6"
        _write_array(path, talks)
        return 1

    def spoil() -> str:
        talks[1]["mapping"] = 7
        _write_array(path, talks)
        return "chat-2"

    return ImporterHistory(
        importer=ChatGptImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 9, "tool": 3},
        grow=grow, spoil=spoil, named=path,
    )  # fmt: skip


def claude_ai(user_home: Path) -> ImporterHistory:
    path = user_home / "export" / "conversations.json"

    def talk(number: int) -> dict[str, Any]:
        def said(own: str, sender: str, *blocks: dict[str, Any]) -> dict[str, Any]:
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            moment = MOMENT.format(number, own[-1])
            return {
                "uuid": own,
                "sender": sender,
                "text": " ".join(texts),
                "content": list(blocks),
                "created_at": moment,
            }

        call = {"type": "tool_use", "id": "c1", "name": "repl", "input": {"code": "ls"}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "a.py"}]}
        messages = [
            said("m1", "human", {"type": "text", "text": QUESTION}),
            said("m2", "assistant", {"type": "thinking", "thinking": "I look."}, call, result),
            said("m3", "assistant", {"type": "text", "text": "One."}),
        ]
        head = {"uuid": f"claude-{number}", "name": f"Files {number}", "created_at": MOMENT.format(number, 0)}
        return {**head, "account": {"uuid": "a"}, "chat_messages": messages}

    talks = [talk(number) for number in (1, 2, 3)]
    _write_array(path, talks)

    def grow() -> int:
        more = {"uuid": "m9", "sender": "human", "text": "Thanks", "content": [], "created_at": MOMENT.format(3, 9)}
        talks[2]["chat_messages"].append(more)
        _write_array(path, talks)
        return 1

    def spoil() -> str:
        talks[0]["chat_messages"] = 7
        _write_array(path, talks)
        return "claude-1"

    return ImporterHistory(
        importer=ClaudeAiImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=spoil, named=path,
    )  # fmt: skip


def cursor(user_home: Path) -> ImporterHistory:
    place = Path("User", "globalStorage", "state.vscdb")
    path = user_home / ".config" / "Cursor" / place
    path.parent.mkdir(parents=True)

    def put(key: str, value: dict[str, Any]) -> None:
        db.execute("INSERT OR REPLACE INTO cursorDiskKV VALUES (?, ?)", (key, json.dumps(value)))

    def head(number: int, *bubbles: str, changed: int = 0) -> None:
        order = [{"bubbleId": own, "type": 1} for own in bubbles]
        times = {"createdAt": (START + number) * 1000, "lastUpdatedAt": (START + number + changed) * 1000}
        value = {"name": f"Files {number}", **times, "fullConversationHeadersOnly": order}
        put(f"composerData:comp-{number}", value)

    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)")
        db.execute("CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for number in (1, 2, 3):
            head(number, "b1", "b2", "b3")
            tool = {"toolCallId": "c1", "name": "list_dir", "status": "completed", "rawArgs": "{}", "result": "a.py"}
            put(f"bubbleId:comp-{number}:b1", {"type": 1, "text": QUESTION})
            put(
                f"bubbleId:comp-{number}:b2",
                {"type": 2, "text": "", "thinking": {"text": "I look."}, "toolFormerData": tool},
            )
            tokens = {"inputTokens": 80, "outputTokens": 8}
            answer = {"type": 2, "text": "One.", "createdAt": MOMENT.format(number, 5), "tokenCount": tokens}
            put(f"bubbleId:comp-{number}:b3", {**answer, "modelInfo": {"modelName": "composer-1"}})
    db.close()

    def grow() -> int:
        nonlocal db
        with sqlite3.connect(path) as db:
            put("bubbleId:comp-3:b4", {"type": 1, "text": "Thanks"})
            head(3, "b1", "b2", "b3", "b4", changed=60)
        db.close()
        return 1

    return ImporterHistory(
        importer=CursorImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(user_home / "Library" / "Application Support" / "Cursor" / place),
    )  # fmt: skip


def goose(user_home: Path) -> ImporterHistory:
    path = user_home / ".local" / "share" / "goose" / "sessions" / "sessions.db"
    path.parent.mkdir(parents=True)

    def add(number: int, at: int, role: str, *blocks: dict[str, Any]) -> None:
        row = (f"m{number}{at}", f"2026030{number}_1", role, json.dumps(blocks), int(START) + number * 60 + at)
        columns = "message_id, session_id, role, content_json, created_timestamp"
        db.execute(f"INSERT INTO messages({columns}) VALUES (?, ?, ?, ?, ?)", row)

    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT, "
            "working_dir TEXT, "
            "created_at TIMESTAMP, updated_at TIMESTAMP, accumulated_input_tokens INTEGER, "
            "accumulated_output_tokens INTEGER, provider_name TEXT, model_config_json TEXT)"
        )
        db.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT, "
            "content_json TEXT, created_timestamp INTEGER, metadata_json TEXT)"
        )
        for number in (1, 2, 3):
            model = json.dumps({"model_name": "claude"})
            head = (f"2026030{number}_1", f"Files {number}", "", "user", "/home/alex/project")
            times = (f"2026-03-0{number} 10:00:00", f"2026-03-0{number} 10:00:09")
            db.execute(
                "INSERT INTO sessions VALUES (?,?,?,?,?,?,?,?,?,?,?)", (*head, *times, 70, 6, "anthropic", model)
            )
            value = {"name": "shell", "arguments": {"command": "ls"}}
            result = {"status": "success", "value": {"content": [{"type": "text", "text": "a.py"}], "isError": False}}
            thought = {"type": "thinking", "thinking": "I look.", "signature": ""}
            call = {"type": "toolRequest", "id": "c1", "toolCall": {"status": "success", "value": value}}
            add(number, 1, "user", {"type": "text", "text": QUESTION})
            add(number, 2, "assistant", thought, call)
            add(number, 3, "user", {"type": "toolResponse", "id": "c1", "toolResult": result})
            add(number, 4, "assistant", {"type": "text", "text": "One."})
    db.close()

    def grow() -> int:
        nonlocal db
        with sqlite3.connect(path) as db:
            add(3, 5, "user", {"type": "text", "text": "Thanks"})
        db.close()
        return 1

    damaged = user_home / "Library" / "Application Support" / "goose" / "sessions" / "sessions.db"
    return ImporterHistory(
        importer=GooseImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(damaged),
    )  # fmt: skip


def pi(user_home: Path) -> ImporterHistory:
    folder = user_home / ".pi" / "agent" / "sessions" / "--home-alex-project--"

    def talk(number: int) -> Path:
        path = folder / f"2026-03-0{number}T10-00-00_pi-{number}.jsonl"

        def entry(own: str, parent: str | None, **message: Any) -> dict[str, Any]:
            head = {"type": "message", "id": own, "parentId": parent, "timestamp": MOMENT.format(number, own[-1])}
            return {**head, "message": message}

        usage = {"input": 40, "output": 4, "cacheRead": 10, "cacheWrite": 0, "totalTokens": 54, "cost": {"total": 0.25}}
        call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
        place = {"timestamp": MOMENT.format(number, 0), "cwd": "/home/alex/project"}
        thought, model = {"type": "thinking", "thinking": "I look."}, {"provider": "x", "model": "m-1"}
        write_lines(
            path,
            {"type": "session", "version": 3, "id": f"pi-{number}", **place},
            entry("e1", None, role="user", content=QUESTION),
            entry("e2", "e1", role="assistant", content=[thought, call], usage=usage, **model),
            entry("e3", "e2", role="toolResult", toolCallId="c1", content=[{"type": "text", "text": "a.py"}]),
            entry("e4", "e3", role="assistant", content=[{"type": "text", "text": "Two."}], **model),
            entry("e5", "e3", role="assistant", content=[{"type": "text", "text": "One."}], **model),
            {"type": "session_info", "id": "e6", "parentId": "e5", "name": f"Files {number}"},
        )  # fmt: skip
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        more = {"type": "message", "id": "e7", "parentId": "e6", "timestamp": MOMENT.format(3, 7)}
        write_lines(paths[2], {**more, "message": {"role": "user", "content": "Thanks"}})
        return 1

    return ImporterHistory(
        importer=PiImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 9, "tool": 3},
        grow=grow, spoil=write_garbage(paths[0]),
    )  # fmt: skip


EXPORTED: dict[str, Callable[[Path], ImporterHistory]] = {
    "chatgpt": chatgpt,
    "claude-ai": claude_ai,
    "cursor": cursor,
    "goose": goose,
    "pi": pi,
}
