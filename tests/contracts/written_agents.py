"""Small histories of coding agents, written by hand after their formats."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sojourn.importers.antigravity import AntigravityImporter
from sojourn.importers.deepseek_harness import DeepSeekHarnessImporter
from sojourn.importers.grok import GrokImporter
from sojourn.importers.kimi import KimiImporter
from sojourn.importers.mistral_vibe import MistralVibeImporter
from sojourn.importers.openclaw import OpenClawImporter
from sojourn.importers.openhands import OpenHandsImporter
from sojourn.importers.zed import ZedImporter
from sojourn.testing.importer_contract import ImporterHistory
from tests.contracts.written_chats import ROLES, write_json
from tests.contracts.written_exports import START
from tests.contracts.written_homes import MOMENT, QUESTION, write_garbage, write_lines

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CALL = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}


def openclaw(user_home: Path) -> ImporterHistory:
    root = user_home / ".openclaw" / "agents" / "main"
    entries: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "cwd": "/home/alex/project"},
        {"role": "user", "content": f'Sender (untrusted metadata):\n```json\n{{"id": "u"}}\n```\n\n{QUESTION}'},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "c1", "name": "ls", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c1", "toolName": "ls", "content": [{"type": "text", "text": "a.py"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "One."}], "model": "m-1", "provider": "x",
         "usage": {"input": 20, "output": 2}},
    ]  # fmt: skip

    def list_lines(number: int) -> list[dict[str, Any]]:
        found = []
        for at, one in enumerate(entries):
            head = {"id": f"e{at}" if at else f"claw-{number}", "timestamp": MOMENT.format(number, at)}
            said = {"type": "message", "parentId": f"e{at - 1}" if at > 1 else None, "message": one}
            found.append({**(said if at else one), **head})
        return found

    def insert(number: int, seq: int, entry: dict[str, Any]) -> None:
        text, moment = json.dumps(entry), int(START + number) * 1000 + seq
        packed = zstd.compress(text.encode()) if seq == 3 else None  # as large ones are
        row = (f"claw-{number}", seq, None if packed else text, packed, len(text), moment)
        db.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT INTO session_transcript_active_events VALUES (?, ?, ?)", (f"claw-{number}", seq, seq))

    path = root / "agent" / "openclaw-agent.sqlite"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, label TEXT, archived_at INTEGER)")
        db.execute("CREATE TABLE session_windows (session_id TEXT, session_key TEXT, started_at INTEGER, model TEXT)")
        db.execute(
            "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB, "
            "event_utf8_bytes INTEGER, created_at INTEGER)"
        )
        db.execute(
            "CREATE TABLE session_transcript_active_events (session_id TEXT, active_position INTEGER, "
            "event_seq INTEGER)"
        )
        for number in (2, 3):
            db.execute("INSERT INTO session_nodes VALUES (?, ?, NULL)", (f"agent:main:{number}", f"Files {number}"))
            window = (f"claw-{number}", f"agent:main:{number}", int(START + number) * 1000, "m-1")
            db.execute("INSERT INTO session_windows VALUES (?, ?, ?, ?)", window)
            for seq, entry in enumerate(list_lines(number), 1):
                insert(number, seq, entry)
    db.close()
    write_lines(root / "sessions" / "claw-1.jsonl", *list_lines(1))

    def grow() -> int:
        nonlocal db
        more = {"type": "message", "id": "e9", "parentId": "e4", "message": {"role": "user", "content": "Thanks"}}
        with sqlite3.connect(path) as db:
            insert(3, 9, {**more, "timestamp": MOMENT.format(3, 9)})
        db.close()
        return 1

    return ImporterHistory(
        importer=OpenClawImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow,
        spoil=write_garbage(root / "sessions" / "claw-1.jsonl"),
    )  # fmt: skip


def kimi(user_home: Path) -> ImporterHistory:
    root = user_home / ".kimi-code" / "sessions" / "wd_project_0123456789ab"

    def talk(number: int) -> Path:
        path = root / f"kimi-{number}" / "agents" / "main" / "wire.jsonl"
        when = int(START + number) * 1000

        def event(**more: Any) -> dict[str, Any]:
            return {"type": "context.append_loop_event", "time": when, "event": more}

        prompt = {"role": "user", "content": [{"type": "text", "text": QUESTION}], "origin": {"kind": "user"}}
        hint = {"role": "user", "content": [{"type": "text", "text": "Be brief."}], "origin": {"kind": "injection"}}
        used = {"inputOther": 20, "output": 2, "inputCacheRead": 5, "inputCacheCreation": 0}
        write_lines(
            path,
            {"type": "metadata", "protocol_version": "1.5", "created_at": when},
            {"type": "config.update", "modelAlias": "m-1", "cwd": "/home/alex/project"},
            {"type": "context.append_message", "time": when, "message": hint},
            {"type": "context.append_message", "time": when, "message": prompt},
            event(type="step.begin"),
            event(type="content.part", part={"type": "think", "think": "I look."}),
            event(type="tool.call", toolCallId="c1", name="ls", args={}),
            event(type="step.end", model="m-1", usage=used),
            event(type="tool.result", toolCallId="c1", result={"output": "a.py"}),
            event(type="step.begin"),
            event(type="content.part", part={"type": "text", "text": "One."}),
            event(type="step.end", model="m-1"),
            {"type": "usage.record", "usage": used},
        )
        write_json(path.parents[2] / "state.json", {"title": f"Files {number}", "workDir": "/home/alex/project"})
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        message = {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}
        write_lines(paths[2], {"type": "context.append_message", "message": message})
        return 1

    return ImporterHistory(
        importer=KimiImporter(), user_home=user_home, sessions=3, roles={**ROLES, "system": 3}, grow=grow,
        spoil=write_garbage(paths[0]),
    )  # fmt: skip


def zed(user_home: Path) -> ImporterHistory:
    path = user_home / ".local" / "share" / "zed" / "threads" / "threads.db"
    path.parent.mkdir(parents=True)

    def talk(number: int) -> dict[str, Any]:
        used = {"input_tokens": 20, "output_tokens": 2, "cache_read_input_tokens": 5}
        call = {"id": "c1", "name": "ls", "input": {}, "is_input_complete": True}
        result = {"tool_name": "ls", "is_error": False, "content": {"Text": "a.py"}, "output": None}
        return {
            "version": "0.3.0",
            "title": f"Files {number}",
            "model": {"provider": "x", "model": "m-1"},
            "request_token_usage": {"u1": used},
            "messages": [
                {"User": {"id": "u1", "content": [{"Text": QUESTION}]}},
                {"Agent": {"content": [{"Thinking": {"text": "I look."}}, {"ToolUse": call}],
                           "tool_results": {"c1": result}}},
                {"Agent": {"content": [{"Text": "One."}], "tool_results": {}}},
            ],
        }  # fmt: skip

    def save(number: int, document: dict[str, Any], moment: str) -> None:
        text = json.dumps(document)
        kind, data = ("json", text.encode()) if number == 1 else ("zstd", zstd.compress(text.encode()))
        row = (f"zed-{number}", document["title"], moment, kind, data, "/home/alex/project\n/tmp")
        db.execute("INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, ?, ?)", row)

    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, "
            "data_type TEXT NOT NULL, data BLOB NOT NULL, folder_paths TEXT)"
        )
        for number in (1, 2, 3):
            save(number, talk(number), f"2026-03-0{number}T10:00:00.123456+00:00")
    db.close()

    def grow() -> int:
        nonlocal db
        document = talk(3)
        document["messages"].append({"User": {"id": "u2", "content": [{"Text": "Thanks"}]}})
        with sqlite3.connect(path) as db:
            save(3, document, "2026-03-03T11:00:00+00:00")
        db.close()
        return 1

    other = user_home / "AppData" / "Local" / "Zed" / "threads" / "threads.db"
    return ImporterHistory(
        importer=ZedImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow, spoil=write_garbage(other)
    )


def openhands(user_home: Path) -> ImporterHistory:
    root = user_home / ".openhands" / "conversations"

    def write(number: int, at: int, kind: str, **more: Any) -> None:
        head = {"kind": kind, "id": f"ev-{at}", "timestamp": f"2026-03-0{number}T10:00:0{at}"}
        write_json(root / f"hands-{number}" / "events" / f"event-0000{at}-ev.json", {**head, **more})

    def talk(number: int) -> Path:
        said = [{"type": "text", "text": QUESTION, "cache_prompt": False}]
        call = {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}', "origin": "completion"}
        seen = {"content": [{"type": "text", "text": "a.py", "cache_prompt": False}], "is_error": False}
        tokens = {"prompt_tokens": 25, "completion_tokens": 2, "cache_read_tokens": 5}
        metrics = {"model_name": "m-1", "accumulated_cost": 0.5, "accumulated_token_usage": tokens}
        write(number, 0, "SystemPromptEvent", source="agent", system_prompt={"type": "text", "text": "You."})
        write(number, 1, "MessageEvent", source="user", llm_message={"role": "user", "content": said})
        write(number, 2, "ActionEvent", source="agent", tool_name="terminal", tool_call=call, tool_call_id="c1",
              thought=[], reasoning_content="I look.")  # fmt: skip
        write(number, 3, "ObservationEvent", source="environment", tool_call_id="c1", observation=seen)
        answer = {"role": "assistant", "content": [{"type": "text", "text": "One."}]}
        write(number, 4, "MessageEvent", source="agent", llm_message=answer)
        path = root / f"hands-{number}" / "base_state.json"
        workspace = {"working_dir": "/home/alex/project"}
        stats = {"usage_to_metrics": {"agent": metrics}}
        write_json(path, {"agent": {"llm": {"model": "m-1"}}, "workspace": workspace, "stats": stats})
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        said = {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}
        write(3, 5, "MessageEvent", source="user", llm_message=said)
        return 1

    return ImporterHistory(
        importer=OpenHandsImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow,
        spoil=write_garbage(paths[0]),
    )  # fmt: skip


def mistral_vibe(user_home: Path) -> ImporterHistory:
    root = user_home / ".vibe" / "logs" / "session"

    def talk(number: int) -> Path:
        path = root / f"session_2026030{number}_100000_0000000{number}" / "messages.jsonl"
        write_lines(
            path,
            {"role": "user", "content": "Be brief.", "injected": True, "message_id": "m0"},
            {"role": "user", "content": QUESTION, "message_id": "m1"},
            {"role": "assistant", "reasoning_content": "I look.", "tool_calls": [{**CALL, "index": 0}]},
            {"role": "tool", "name": "ls", "tool_call_id": "c1", "content": "a.py"},
            {"role": "assistant", "content": "One.", "message_id": "m4", "model": "m-1"},
        )
        stats = {"session_prompt_tokens": 20, "session_completion_tokens": 2}
        meta = {"session_id": f"vibe-{number}", "start_time": MOMENT.format(number, 0), "title": f"Files {number}"}
        place = {"environment": {"working_directory": "/home/alex/project"}, "git_branch": "main"}
        write_json(path.with_name("meta.json"), {**meta, **place, "stats": stats})
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        write_lines(paths[2], {"role": "user", "content": "Thanks", "message_id": "m5"})
        return 1

    return ImporterHistory(
        importer=MistralVibeImporter(), user_home=user_home, sessions=3, roles={**ROLES, "system": 3}, grow=grow,
        spoil=write_garbage(paths[0]),
    )  # fmt: skip


def grok(user_home: Path) -> ImporterHistory:
    root = user_home / ".grok" / "sessions" / quote("/home/alex/project", safe="")

    def talk(number: int) -> Path:
        path, when = root / f"grok-{number}" / "chat_history.jsonl", START + number
        write_lines(
            path,
            {"type": "system", "content": "You are."},
            {"type": "user", "content": [{"type": "text", "text": "Skills."}], "synthetic_reason": "skills"},
            {"type": "user", "content": [{"type": "text", "text": QUESTION}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]},
            {"type": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "ls", "arguments": "{}"}]},
            {"type": "tool_result", "tool_call_id": "c1", "content": "a.py"},
            {"type": "assistant", "content": "One.", "model_id": "m-1"},
        )
        used = {"inputTokens": 25, "outputTokens": 2, "cachedReadTokens": 5, "reasoningTokens": 1}
        ended = {"sessionUpdate": "turn_completed", "prompt_id": "p1", "usage": {"modelUsage": {"m-1": used}}}
        asked = {"sessionUpdate": "tool_call", "toolCallId": "c1", "status": "completed"}
        for update in (asked, ended, ended):  # a retry says it again
            write_lines(path.with_name("updates.jsonl"), {"timestamp": when, "params": {"update": update}})
        info = {"id": f"grok-{number}", "cwd": "/home/alex/project"}
        summary = {"info": info, "generated_title": f"Files {number}", "created_at": MOMENT.format(number, 0)}
        write_json(path.with_name("summary.json"), summary)
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        write_lines(paths[2], {"type": "user", "content": "Thanks"})
        return 1

    return ImporterHistory(
        importer=GrokImporter(), user_home=user_home, sessions=3, roles={**ROLES, "assistant": 9, "system": 6},
        grow=grow, spoil=write_garbage(paths[0]),
    )  # fmt: skip


def deepseek_harness(user_home: Path) -> ImporterHistory:
    root = user_home / ".dsh" / "sessions" / "home-alex-project"

    def talk(number: int) -> Path:
        name = "session.jsonl" if number == 1 else "session.jsonl.zstd"
        path, when = root / f"session-000{number}" / name, int(START + number) * 1000
        call = {"type": "tool-call", "toolCallId": "c1", "toolName": "ls", "input": {}}
        result = {"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "a.py"}}

        def event(seq: int, kind: str, **data: Any) -> dict[str, Any]:
            return {"type": kind, "seq": seq, "time": when + seq, "data": data}

        def say(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
            return {"message": {"role": role, "content": list(blocks)}}

        text = {"type": "text", "text": QUESTION}
        add_frames(
            path,
            {"type": "session", "id": path.parent.name, "createdAt": when, "cwd": "/home/alex/project"},
            event(1, "user/message", source={"kind": "plugin"}, **say("user", {"type": "text", "text": "Rules."})),
            event(2, "user/message", source={"kind": "user"}, **say("user", text)),
            event(3, "text-chunks", texts=["On", "e"]),
            event(4, "assistant/message", **say("assistant", {"type": "reasoning", "text": "I look."}, call)),
            event(5, "tool/result", **say("tool", result)),
            event(6, "assistant/message", model="m-1", usage={"inputTokens": 20, "outputTokens": 2},
                  **say("assistant", {"type": "text", "text": "One."})),
            event(7, "session/title", title=f"Files {number}"),
        )  # fmt: skip
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        said = {"source": {"kind": "user"}, "message": {"content": [{"type": "text", "text": "Thanks"}]}}
        add_frames(paths[2], {"type": "user/message", "seq": 8, "time": int(START + 9) * 1000, "data": said})
        return 1

    return ImporterHistory(
        importer=DeepSeekHarnessImporter(), user_home=user_home, sessions=3, roles={**ROLES, "system": 3}, grow=grow,
        spoil=write_garbage(paths[0]),
    )  # fmt: skip


def add_frames(path: Path, *records: dict[str, Any]) -> None:
    """Appends lines, each in a frame of its own if the file is compressed."""
    if path.suffix == ".jsonl":
        write_lines(path, *records)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.writelines(zstd.compress(json.dumps(one).encode() + b"\n") for one in records)


def antigravity(user_home: Path) -> ImporterHistory:
    root = user_home / ".gemini" / "antigravity" / "brain"

    def talk(number: int) -> Path:
        path = root / f"gravity-{number}" / ".system_generated" / "logs" / "transcript.jsonl"
        request = f"<USER_REQUEST>\n{QUESTION}\n</USER_REQUEST>"
        metadata = "<ADDITIONAL_METADATA>\nThe time.\n</ADDITIONAL_METADATA>"
        call = {"name": "list_dir", "args": {"DirectoryPath": '"/home/alex/project"'}}

        def step(index: int, source: str, kind: str, content: str, **more: Any) -> dict[str, Any]:
            head = {"step_index": index, "source": source, "type": kind, "status": "DONE"}
            return {**head, "created_at": MOMENT.format(number, index), "content": content, **more}

        write_lines(
            path,
            step(0, "USER_EXPLICIT", "USER_INPUT", request + metadata),
            step(1, "MODEL", "PLANNER_RESPONSE", "", thinking="I look.", tool_calls=[call]),
            step(2, "MODEL", "LIST_DIRECTORY", "a.py"),
            step(3, "MODEL", "PLANNER_RESPONSE", "One."),
        )
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        write_lines(paths[2], {"step_index": 4, "source": "USER_EXPLICIT", "type": "USER_INPUT", "content": "Thanks"})
        return 1

    return ImporterHistory(
        importer=AntigravityImporter(), user_home=user_home, sessions=3, roles=ROLES, grow=grow,
        spoil=write_garbage(paths[0]),
    )  # fmt: skip


AGENTS: dict[str, Callable[[Path], ImporterHistory]] = {
    "openclaw": openclaw,
    "kimi": kimi,
    "zed": zed,
    "openhands": openhands,
    "mistral-vibe": mistral_vibe,
    "grok": grok,
    "deepseek-harness": deepseek_harness,
    "antigravity": antigravity,
}
