"""Homes that the real programs left behind, counted here once more from their own files."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import text_of, tool_calls_of
from sojourn.importers.claude_code.importer import ClaudeCodeImporter
from sojourn.importers.codex.importer import CodexImporter
from sojourn.importers.continue_dev import ContinueImporter
from sojourn.importers.gemini import GeminiImporter
from sojourn.importers.llm_logs import LlmImporter
from sojourn.importers.qwen import QwenImporter
from sojourn.ports.importer import Importer, Transcript

SOURCES = Path(__file__).parents[2] / "fixtures" / "sources"
HOMES = {"gemini": ("0.61.0", GeminiImporter()), "qwen": ("0.24.4", QwenImporter())}


def read_home(program: str) -> list[Transcript]:
    version, importer = HOMES[program]
    home: Importer = importer
    [found] = home.find(SOURCES / program / version, {})
    with home.open(found.home) as reader:
        return [reader.read(one.native_id) for one in list(reader.sessions())]


def list_records(program: str) -> list[dict[str, Any]]:
    paths = sorted((SOURCES / program).rglob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def list_words(read: list[Transcript], role: str) -> list[str]:
    return sorted(
        text for one in read for message in one.messages if message.role == role and (text := text_of(message))
    )


def test_everything_of_qwen_is_there_once() -> None:
    read, records = read_home("qwen"), list_records("qwen")
    parts = [(one, part) for one in records for part in one.get("message", {}).get("parts", ())]
    for role, kind in (("user", "user"), ("assistant", "assistant")):
        told = [
            part["text"] for one, part in parts if one["type"] == kind and "text" in part and not part.get("thought")
        ]
        assert list_words(read, role) == sorted(told)
    calls = [part["functionCall"]["id"] for _, part in parts if "functionCall" in part]
    assert [call.id for one in read for message in one.messages for call in tool_calls_of(message)] == calls
    thoughts = [part for _, part in parts if part.get("thought")]
    assert sum(message.reasoning is not None for one in read for message in one.messages) == len(thoughts) > 0
    used = [one["usageMetadata"] for one in records if "usageMetadata" in one]
    assert sum(one.fields["output_tokens"] for one in read) == sum(one["candidatesTokenCount"] for one in used)
    assert [one.warnings for one in read] == [(), ()]


def test_everything_of_gemini_is_there_once() -> None:
    read, records = read_home("gemini"), list_records("gemini")
    last = {one["id"]: one for one in records if "id" in one}  # the last line about a message counts
    typed = [
        one["content"][0]["text"] for one in last.values() if one["type"] == "user" and "text" in one["content"][0]
    ]
    assert list_words(read, "user") == sorted(typed)
    answers = [one for one in last.values() if one["type"] == "gemini"]
    assert list_words(read, "assistant") == sorted(one["content"] for one in answers if one["content"])
    calls = sorted(call["id"] for one in answers for call in one.get("toolCalls", ()))
    assert sorted(call.id for one in read for said in one.messages for call in tool_calls_of(said)) == calls
    outputs = [message for one in read for message in one.messages if message.role == "tool"]
    assert len(outputs) == len(calls) > 0
    assert all("Buy milk." in text_of(one) for one in outputs)
    spent = sum(one["tokens"]["output"] for one in answers if "tokens" in one)
    assert sum(one.fields["output_tokens"] for one in read) == spent > 0


def test_a_session_that_gemini_resumed_is_one_session() -> None:
    read = read_home("gemini")
    assert [one.fields["title"] for one in read] == [
        "Read notes.txt and tell me what it says.",
        "Read the missing file.",
    ]
    assert [message.content for message in read[1].messages if message.role == "user"] == [
        "Read the missing file.",
        "Think about it, then say hello.",
    ]


@pytest.mark.parametrize("program", HOMES)
def test_the_introduction_of_a_program_is_not_the_persons(program: str) -> None:
    words = [text for text in list_words(read_home(program), "user") if text.startswith("<")]
    assert words == []


def test_everything_of_continue_is_there_once() -> None:
    importer, home = ContinueImporter(), SOURCES / "continue" / "1.5.47"
    [found] = importer.find(home, {})
    with importer.open(found.home) as reader:
        read = [reader.read(one.native_id) for one in list(reader.sessions())]
    documents = [json.loads(path.read_text("utf-8")) for path in home.rglob("*.json")]
    items = [item for one in documents if isinstance(one, dict) for item in one["history"]]
    for role in ("user", "assistant"):
        told = [item["message"]["content"] for item in items if item["message"]["role"] == role]
        assert list_words(read, role) == sorted(told)
    states = [state for item in items for state in item.get("toolCallStates", ())]
    calls = [call.id for one in read for message in one.messages for call in tool_calls_of(message)]
    assert calls == [state["toolCallId"] for state in states] != []
    outputs = [
        (message.tool_call_id, text_of(message)) for one in read for message in one.messages if message.role == "tool"
    ]
    assert outputs == [(state["toolCallId"], state["output"][0]["content"]) for state in states]
    used = [one["usage"]["completionTokens"] for one in documents if isinstance(one, dict)]
    assert sum(one.fields["output_tokens"] for one in read) == sum(used) > 0
    assert [one.fields["title"] for one in read] == ["Read notes.txt and tell me what it says.", "Hello there"]
    assert [(one.fields["model"], one.warnings) for one in read] == [("scripted-1", ())] * 2


def test_everything_of_llm_is_there_once(tmp_path: Path) -> None:
    [packed] = (SOURCES / "llm" / "0.36").rglob("logs.db.gz")
    folder = tmp_path / ".config" / "io.datasette.llm"
    folder.mkdir(parents=True)
    (folder / "logs.db").write_bytes(gzip.decompress(packed.read_bytes()))
    with sqlite3.connect(folder / "logs.db") as db:
        roles = dict(db.execute("SELECT role, count(*) FROM messages GROUP BY role").fetchall())
        calls = [own for (own,) in db.execute("SELECT payload ->> 'tool_call_id' FROM parts WHERE type = 'tool_call'")]
        tokens = db.execute("SELECT sum(input_tokens), sum(output_tokens) FROM turns").fetchone()
    db.close()
    importer = LlmImporter()
    [found] = importer.find(tmp_path, {})
    with importer.open(found.home) as reader:
        read = [reader.read(one.native_id) for one in list(reader.sessions())]
    said = [message for one in read for message in one.messages]
    assert {role: sum(message.role == role for message in said) for role in roles} == roles
    assert [call.id for message in said for call in tool_calls_of(message)] == calls != []
    assert [message.tool_call_id for message in said if message.role == "tool"] == calls
    assert sum(one.fields["input_tokens"] for one in read) == tokens[0] > 0
    assert sum(one.fields["output_tokens"] for one in read) == tokens[1] > 0
    assert next(text_of(one) for one in said if one.role == "tool") == "Buy milk.\nShip the importer.\n"
    [with_fragment] = [message for message in said if (message.content or "").endswith("What is the plan?")]
    assert "Ship the importer." in (with_fragment.content or "")
    assert [one.warnings for one in read] == [()] * 3


def read_all_of(program: str, version: str) -> tuple[list[Transcript], list[Path]]:
    importer: Importer = CodexImporter() if program == "codex" else ClaudeCodeImporter()
    user_home = SOURCES / program / version
    [found] = importer.find(user_home, {})
    with importer.open(found.home) as reader:
        return [reader.read(one.native_id) for one in list(reader.sessions())], sorted(user_home.rglob("*.jsonl"))


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.325"])
def test_every_answer_of_claude_code_is_counted_once(version: str) -> None:
    """In forks, which repeat a whole session, and in sub-agents, which no parent counts again. The last line counts."""
    read, paths = read_all_of("claude-code", version)
    last: dict[str, dict[str, int]] = {}
    for path in paths:
        lines = path.read_text("utf-8").splitlines()
        if path.stem.startswith("agent-") and '"content":"Warmup"' in lines[0]:
            continue  # started in advance: no session
        answers = (one["message"] for one in map(json.loads, lines) if one.get("type") == "assistant")
        last |= {one["id"]: one["usage"] for one in answers if one["model"] != "<synthetic>"}
    for field, theirs in (("input_tokens", "input_tokens"), ("output_tokens", "output_tokens")):
        assert sum(one.fields.get(field, 0) for one in read) == sum(used[theirs] for used in last.values()) > 0
    assert sum(one.fields.get("api_call_count", 0) for one in read) == len(last)
    assert any(one.fields["source"] == "subagent" for one in read)
    assert any(one.fields["source"] != "subagent" and one.fields["parent_session_id"] for one in read)


@pytest.mark.parametrize("version", ["0.42.0", "0.120.0", "0.166.0"])
def test_every_answer_of_codex_is_counted_once(version: str) -> None:
    """The running totals of the files say what their answers sum up to, sub-agents and forks by reference included."""
    read, paths = read_all_of("codex", version)
    spent = 0
    for path in paths:
        events = (one["payload"] for one in map(json.loads, path.read_text("utf-8").splitlines()) if "payload" in one)
        infos = [one["info"] for one in events if one.get("type") == "token_count" and one.get("info")]
        told = [[info[f"{kind}_token_usage"]["output_tokens"] for kind in ("total", "last")] for info in infos]
        total = told[0][0] - told[0][1] if told else 0  # of its parent
        for now, _ in told:
            spent += now - total if now >= total else now  # a restarted process counts anew
            total = now
    assert sum(one.fields.get("output_tokens", 0) for one in read) == spent > 0


def test_a_fork_of_codex_that_repeats_its_parent_uses_only_what_is_its_own(tmp_path: Path) -> None:
    path = max((SOURCES / "codex" / "0.120.0").rglob("rollout-*.jsonl"), key=lambda one: one.stat().st_size)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    head, *_ = (json.loads(line) for line in lines)
    parent, fork = head["payload"]["id"], "01a1e2c9-ffff-7af0-bb10-3b0a544346df"
    own = head | {"payload": head["payload"] | {"id": fork, "forked_from_id": parent}}
    told = [line for line in lines if '"token_count"' in line and '"total_token_usage"' in line]
    new = told[-1].replace('"total_tokens":', '"total_tokens":1')  # another total than any of the parent's
    folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    (folder / path.name).write_text("".join(lines))
    (folder / f"rollout-2026-11-17T00-00-00-{fork}.jsonl").write_text("".join([json.dumps(own) + "\n", *lines, new]))
    with CodexImporter().open(tmp_path / ".codex") as reader:
        used = {one: reader.read(one).fields for one in (parent, fork)}
    assert used[fork]["parent_session_id"] == parent
    last = json.loads(new)["payload"]["info"]["last_token_usage"]
    assert used[fork]["output_tokens"] == last["output_tokens"] < used[parent]["output_tokens"]
    assert used[fork]["api_call_count"] == 1
