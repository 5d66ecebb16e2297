"""Small histories of chat programs and of Aider, written by hand after their formats."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.importers.aider import AiderImporter
from sojourn.importers.librechat import LibreChatImporter
from sojourn.importers.llm_logs import LlmImporter
from sojourn.importers.open_webui import OpenWebUiExportImporter, OpenWebUiImporter
from sojourn.importers.opencode.export import OpencodeExportImporter
from sojourn.testing.importer_contract import ImporterHistory
from tests.contracts.written_exports import START
from tests.contracts.written_homes import MOMENT, QUESTION, write_garbage

ROLES = {"user": 3, "assistant": 6, "tool": 3}


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def _open_webui_chat(number: int) -> dict[str, Any]:
    output = [
        {"type": "reasoning", "summary": [], "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "a.py"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Two."}]},
    ]
    older = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n&gt; Hm.\n</details>\nOne.'
    when = int(START) + number

    def said(own: str, parent: str | None, role: str, content: str, **more: Any) -> dict[str, Any]:
        return {"id": own, "parentId": parent, "role": role, "content": content, "timestamp": when, **more}

    usage = {"prompt_tokens": 20, "completion_tokens": 2}
    listed = [
        said("m1", None, "user", QUESTION),
        said("m2", "m1", "assistant", "Two.", model="m-1", output=output),
        said("m3", "m1", "assistant", older, model="m-1", usage=usage),
    ]
    history = {"currentId": "m3", "messages": {one["id"]: one for one in listed}}
    chat = {"title": f"Files {number}", "models": ["m-1"], "history": history}
    head = {"id": f"webui-{number}", "title": f"Files {number}", "created_at": when, "updated_at": when}
    return {**head, "chat": chat, "archived": False, "user_id": "u"}


def open_webui_export(user_home: Path) -> ImporterHistory:
    path, talks = user_home / "export" / "chat-export-1772359200.json", [_open_webui_chat(one) for one in (3, 2, 1)]
    write_json(path, talks)

    def grow() -> int:
        history = talks[0]["chat"]["history"]
        history["messages"]["m4"] = {"id": "m4", "parentId": "m3", "role": "user", "content": "Thanks"}
        history["currentId"] = "m4"
        write_json(path, talks)
        return 1

    def spoil() -> str:
        talks[1]["chat"]["history"] = {"messages": 7}
        write_json(path, talks)
        return "webui-2"

    return ImporterHistory(
        importer=OpenWebUiExportImporter(), user_home=user_home, sessions=3, roles={**ROLES, "assistant": 9}, grow=grow,
        spoil=spoil, named=path,
    )  # fmt: skip


def open_webui(user_home: Path) -> ImporterHistory:
    path = user_home / ".open-webui" / "webui.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat JSON, created_at BIGINT, "
            "updated_at BIGINT, archived BOOLEAN, meta JSON, current_message_id TEXT)"
        )
        db.execute(
            "CREATE TABLE chat_message (id TEXT PRIMARY KEY, chat_id TEXT, role TEXT, parent_id TEXT, content JSON, "
            "output JSON, model_id TEXT, usage JSON, created_at BIGINT, updated_at BIGINT)"
        )
        for number in (1, 2, 3):
            one = _open_webui_chat(number)
            history = one["chat"]["history"]
            row = (one["id"], "u", one["title"], json.dumps(one["chat"]), one["created_at"], one["updated_at"], 0, "{}")
            db.execute("INSERT INTO chat VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, history["currentId"]))
            for said in history["messages"].values() if number > 1 else ():  # the first chat is of an older version
                texts = [json.dumps(said.get(key)) for key in ("content", "output", "usage")]
                head = (f"{one['id']}-{said['id']}", one["id"], said["role"], said["parentId"], texts[0], texts[1])
                when = (one["created_at"], one["updated_at"])
                db.execute(
                    "INSERT INTO chat_message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*head, said.get("model"), texts[2], *when),
                )
    db.close()
    other = user_home / "open-webui" / "webui.db"

    def grow() -> int:
        with sqlite3.connect(path) as db:
            row = ("webui-3-m4", "webui-3", "user", "m3", '"Thanks"', None, None, None, START + 99, START + 99)
            db.execute("INSERT INTO chat_message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            db.execute("UPDATE chat SET updated_at = updated_at + 99, current_message_id = 'm4' WHERE id = 'webui-3'")
        db.close()
        return 1

    return ImporterHistory(
        importer=OpenWebUiImporter(), user_home=user_home, sessions=3, roles={**ROLES, "assistant": 9}, grow=grow,
        spoil=write_garbage(other),
    )  # fmt: skip


def llm(user_home: Path) -> ImporterHistory:
    folder = user_home / ".config" / "io.datasette.llm"
    folder.mkdir(parents=True)
    tables = (
        "conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT)",
        "responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT, conversation_id TEXT, "
        "datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER, reasoning TEXT, resolved_model TEXT)",
        "tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT)",
        "tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT, tool_call_id TEXT)",
        "fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT)",
        'prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER)',
    )

    def add(number: int, at: int, prompt: str, response: str, *used: int) -> None:
        own, moment = f"r{number}{at}", MOMENT.format(number, at)
        row = (own, "m-1", prompt, None, response, f"llm-{number}", moment, *(used or (None, None)), None, None)
        db.execute("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    with sqlite3.connect(folder / "logs.db") as db:
        for table in tables:
            db.execute(f"CREATE TABLE {table}")
        db.execute("INSERT INTO fragments VALUES (1, 'h', ?)", (QUESTION,))
        for number in (1, 2, 3):
            db.execute("INSERT INTO conversations VALUES (?, ?, 'm-1')", (f"llm-{number}", f"Files {number}"))
            add(number, 1, "", "", 10, 1)
            db.execute("INSERT INTO prompt_fragments VALUES (?, 1, 0)", (f"r{number}1",))
            db.execute(
                "INSERT INTO tool_calls(response_id, name, arguments, tool_call_id) VALUES (?, 'ls', '{}', 'c1')",
                (f"r{number}1",),
            )
            add(number, 2, "", "One.", 10, 1)
            db.execute(
                "INSERT INTO tool_results(response_id, name, output, tool_call_id) VALUES (?, 'ls', 'a.py', 'c1')",
                (f"r{number}2",),
            )
    db.close()

    def grow() -> int:
        nonlocal db
        with sqlite3.connect(folder / "logs.db") as db:
            add(3, 5, "Thanks", "")
        db.close()
        return 1

    other = user_home / ".local" / "share" / "io.datasette.llm" / "logs.db"
    return ImporterHistory(
        importer=LlmImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow, spoil=write_garbage(other)
    )


def librechat(user_home: Path) -> ImporterHistory:
    folder = user_home / "export"

    def talk(number: int) -> tuple[Path, dict[str, Any]]:
        moment = MOMENT.format(number, 1)
        call = {"id": "c1", "name": "ls", "args": "{}", "output": "a.py"}
        parts = [{"type": "think", "think": "I look."}, {"type": "tool_call", "tool_call": call}]

        def said(own: str, parent: str, **more: Any) -> dict[str, Any]:
            return {"messageId": own, "parentMessageId": parent, "createdAt": moment, "text": "", **more}

        root = "00000000-0000-0000-0000-000000000000"
        listed = [
            said("m1", root, text=QUESTION, isCreatedByUser=True, sender="User"),
            said("m2", "m1", content=parts, model="m-1", isCreatedByUser=False),
            said("m3", "m2", content=[{"type": "text", "text": "One."}], model="m-1", isCreatedByUser=False),
        ]
        document = {
            "conversationId": f"libre-{number}", "endpoint": "openAI", "title": f"Files {number}",
            "exportAt": "10:00:00 GMT", "branches": True, "recursive": False, "options": {}, "messages": listed,
        }  # fmt: skip
        write_json(folder / f"files-{number}.json", document)
        return folder / f"files-{number}.json", document

    talks = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        path, document = talks[2]
        more = {"messageId": "m4", "parentMessageId": "m3", "text": "Thanks", "isCreatedByUser": True}
        write_json(path, {**document, "messages": [*document["messages"], more]})
        return 1

    def spoil() -> str:
        path, document = talks[0]
        path.write_text(json.dumps(document)[:-40])
        return str(path)

    return ImporterHistory(
        importer=LibreChatImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow, spoil=spoil,
        named=folder,
    )  # fmt: skip


def opencode_export(user_home: Path) -> ImporterHistory:
    folder = user_home / "export"

    def talk(number: int) -> tuple[Path, dict[str, Any]]:
        own, when = f"ses_{number}", int(START + number) * 1000

        def said(message: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
            info = {"id": message, "sessionID": own, "role": role, "time": {"created": when, "completed": when}}
            answer = {"modelID": "m-1", "providerID": "x", "tokens": {"input": 20, "output": 2}}
            listed = [{"id": f"{message}-{at}", **part} for at, part in enumerate(parts)]
            return {"info": info | (answer if role == "assistant" else {}), "parts": listed}

        state = {"status": "completed", "input": {}, "output": "a.py", "time": {"start": when, "end": when}}
        times = {"created": when, "updated": when}
        document = {
            "info": {"id": own, "title": f"Files {number}", "directory": "/home/alex/project", "time": times},
            "messages": [
                said("m1", "user", {"type": "text", "text": QUESTION}),
                said("m2", "assistant", {"type": "tool", "tool": "ls", "callID": "c1", "state": state}),
                said("m3", "assistant", {"type": "text", "text": "One."}),
            ],
        }
        write_json(folder / f"files-{number}.json", document)
        return folder / f"files-{number}.json", document

    talks = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        path, document = talks[2]
        info = {"id": "m9", "role": "user", "time": {"created": int(START + 99) * 1000}}
        more = {"info": info, "parts": [{"id": "p9", "type": "text", "text": "Thanks"}]}
        write_json(path, {**document, "messages": [*document["messages"], more]})
        return 1

    def spoil() -> str:
        path, document = talks[0]
        path.write_text(json.dumps(document)[:-40])
        return str(path)

    return ImporterHistory(
        importer=OpencodeExportImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow, spoil=spoil,
        named=folder,
    )  # fmt: skip


def aider(user_home: Path) -> ImporterHistory:
    paths = [user_home / "work" / folder / ".aider.chat.history.md" for folder in ("one", "two")]

    def talk(number: int) -> str:
        return (
            f"\n# aider chat started at 2026-03-0{number} 10:00:00\n\n> Aider v0.86.2  \n"
            "> Main model: m-1 with diff  \n"
            f"\n#### Files {number}?  \n#### <blank>  \n#### {QUESTION}  \n\n"
            "One:\n\n```\n#### not a prompt\n> not a notice\n```\n\n"
            "> Tokens: 1.2k sent, 31 received.  \n> Applied edit to a.py  \n"
        )

    for path in paths:
        path.parent.mkdir(parents=True)
    paths[0].write_text(talk(1))
    paths[1].write_text(talk(2) + talk(3))

    def grow() -> int:
        with paths[1].open("a") as file:
            file.write("\n#### Thanks  \n")
        return 1

    return ImporterHistory(
        importer=AiderImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 3, "system": 12},
        grow=grow, spoil=write_garbage(paths[0]), named=user_home / "work",
    )  # fmt: skip


CHATS: dict[str, Callable[[Path], ImporterHistory]] = {
    "open-webui": open_webui,
    "open-webui-export": open_webui_export,
    "llm": llm,
    "librechat": librechat,
    "opencode-export": opencode_export,
    "aider": aider,
}
