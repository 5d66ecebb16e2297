"""Homes that the real programs left behind, counted here once more from their own files."""

import json
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.messages import text_of, tool_calls_of
from sojourn.importers.gemini import GeminiImporter
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
