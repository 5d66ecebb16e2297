"""Small histories of other programs, written by hand after their formats: they can grow, and be damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.importers.copilot import CopilotImporter
from sojourn.importers.gemini import GeminiImporter
from sojourn.importers.qwen import QwenImporter
from sojourn.testing.importer_contract import ImporterHistory

MOMENT = "2026-03-0{}T10:00:0{}.000Z"
QUESTION = "How many files?"
GARBAGE = b"\x00\xff neither text nor a database\n" * 20


def write_lines(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def write_garbage(path: Path) -> Callable[[], str]:
    def spoil() -> str:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(GARBAGE)
        return str(path)

    return spoil


def gemini(user_home: Path) -> ImporterHistory:
    chats = user_home / ".gemini" / "tmp" / "project" / "chats"

    def talk(number: int, parent: str = "") -> Path:
        own = f"0000000{number}-1111-4111-8111-111111111111"
        name = f"{parent}/{own}.jsonl" if parent else f"session-2026-03-0{number}T10-00-0000000{number}.jsonl"
        result = [{"functionResponse": {"id": "c1", "name": "ls", "response": {"output": "a.py"}}}]
        call = {
            "id": "c1",
            "name": "ls",
            "args": {"path": "."},
            "status": "success",
            "timestamp": MOMENT.format(number, 2),
        }
        answer = {
            "id": "m2",
            "timestamp": MOMENT.format(number, 2),
            "type": "gemini",
            "model": "gemini-3",
            "content": "One.",
        }
        tokens = {"input": 100, "output": 7, "cached": 40, "thoughts": 3, "tool": 0, "total": 110}
        kind = {"kind": "subagent"} if parent else {}
        write_lines(
            chats / name,
            {"sessionId": own, "projectHash": "p", "startTime": MOMENT.format(number, 0), "lastUpdated": "", **kind},
            {"id": "m1", "timestamp": MOMENT.format(number, 1), "type": "user", "content": [{"text": QUESTION}]},
            {**answer, "content": "", "toolCalls": [{**call, "result": None}]},
            {**answer, "thoughts": [{"subject": "Look", "description": "I list."}], "tokens": tokens,
             "toolCalls": [{**call, "result": result}]},
            {"$set": {"summary": f"Files {number}"}},
        )  # fmt: skip
        return chats / name

    first, last = talk(1), talk(2)
    talk(3, parent="00000001-1111-4111-8111-111111111111")
    (chats.parent / ".project_root").write_text("/home/alex/project")

    def grow() -> int:
        write_lines(last, {"id": "m3", "timestamp": MOMENT.format(2, 5), "type": "user", "content": "Thanks"})
        return 1

    return ImporterHistory(
        importer=GeminiImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 3, "tool": 3},
        grow=grow, spoil=write_garbage(first),
    )  # fmt: skip


def qwen(user_home: Path) -> ImporterHistory:
    chats = user_home / ".qwen" / "projects" / "-home-alex-project" / "chats"

    def talk(number: int) -> Path:
        path = chats / f"0000000{number}-2222-4222-8222-222222222222.jsonl"

        def record(own: str, parent: str | None, kind: str, parts: list[Any], **more: Any) -> dict[str, Any]:
            role = "model" if kind == "assistant" else "user"
            head = {
                "uuid": own,
                "parentUuid": parent,
                "sessionId": path.stem,
                "timestamp": MOMENT.format(number, own[-1]),
            }
            return {
                **head,
                "type": kind,
                "cwd": "/home/alex/project",
                "message": {"role": role, "parts": parts},
                **more,
            }

        usage = {
            "promptTokenCount": 50,
            "candidatesTokenCount": 5,
            "cachedContentTokenCount": 20,
            "thoughtsTokenCount": 2,
        }
        thought = {"text": "I look.", "thought": True}
        call = {"functionCall": {"id": "c1", "name": "list_directory", "args": {"path": "."}}}
        response = {"functionResponse": {"id": "c1", "name": "list_directory", "response": {"output": "a.py"}}}
        result = {"callId": "c1", "status": "success", "resultDisplay": "a.py"}
        write_lines(
            path,
            record("u1", None, "user", [{"text": "How many files?"}], provenance="real_user"),
            record("u2", "u1", "assistant", [thought, call], model="qwen3", usageMetadata=usage),
            record("u3", "u2", "tool_result", [response], toolCallResult=result),
            record("u4", "u3", "assistant", [{"text": "Two."}], model="qwen3"),
            record("u5", "u3", "assistant", [{"text": "One."}], model="qwen3"),
            {"uuid": "u6", "parentUuid": "u5", "sessionId": path.stem, "timestamp": MOMENT.format(number, 6),
             "type": "system", "subtype": "custom_title", "systemPayload": {"customTitle": f"Files {number}"}},
        )  # fmt: skip
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        more = {"uuid": "u7", "parentUuid": "u6", "timestamp": MOMENT.format(3, 7), "type": "user"}
        write_lines(paths[2], {**more, "message": {"role": "user", "parts": [{"text": "Thanks"}]}})
        return 1

    return ImporterHistory(
        importer=QwenImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 9, "tool": 3},
        grow=grow, spoil=write_garbage(paths[0]),
    )  # fmt: skip


def copilot(user_home: Path) -> ImporterHistory:
    state = user_home / ".copilot" / "session-state"

    def talk(number: int) -> Path:
        path = state / f"folder-{number}" / "events.jsonl"

        def event(kind: str, at: int, **data: Any) -> dict[str, Any]:
            return {"type": kind, "id": f"e{at}", "timestamp": MOMENT.format(number, at), "data": data}

        request = {"toolCallId": "c1", "name": "bash", "arguments": {"command": "ls"}}
        usage = {
            "inputTokens": 90,
            "outputTokens": 9,
            "cacheReadTokens": 30,
            "cacheWriteTokens": 0,
            "reasoningTokens": 1,
        }
        write_lines(
            path,
            event(
                "session.start",
                0,
                sessionId=f"copilot-{number}",
                context={"cwd": "/home/alex/project", "branch": "main"},
            ),
            event("session.model_change", 1, newModel="gpt-5"),
            event("user.message", 2, content="How many files?"),
            event("assistant.message", 3, content="", reasoningText="I look.", toolRequests=[request], outputTokens=4),
            event("tool.execution_start", 4, toolCallId="c1", toolName="bash", arguments={"command": "ls"}),
            event("tool.execution_complete", 5, toolCallId="c1", success=True, result={"content": "a.py"}),
            event("assistant.message", 6, content="One.", toolRequests=[], outputTokens=5),
            event("session.shutdown", 7, modelMetrics={"gpt-5": {"usage": usage}}),
        )
        return path

    paths = [talk(number) for number in (1, 2, 3)]

    def grow() -> int:
        event = {"type": "user.message", "id": "e8", "timestamp": MOMENT.format(3, 8), "data": {"content": "Thanks"}}
        write_lines(paths[2], event)
        return 1

    return ImporterHistory(
        importer=CopilotImporter(), user_home=user_home, sessions=3, roles={"user": 3, "assistant": 6, "tool": 3},
        grow=grow, spoil=write_garbage(paths[0]),
    )  # fmt: skip


WRITTEN: dict[str, Callable[[Path], ImporterHistory]] = {"gemini": gemini, "qwen": qwen, "copilot": copilot}
