"""Exports that people download: archives, split files, and files made to keep us busy."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sojourn.importers import export_importer
from sojourn.importers.chatgpt import ChatGptImporter
from sojourn.importers.claude_ai import ClaudeAiImporter
from sojourn.importers.export_importer import iterate_array
from sojourn.ports.importer import SessionEntry


def talk(number: int, text: str = "Hello") -> dict[str, Any]:
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    nodes = {"n1": {"id": "n1", "parent": None, "message": said}}
    return {"id": f"chat-{number}", "create_time": 1772359200 + number, "mapping": nodes, "current_node": "n1"}


def list_entries(path: Path) -> list[SessionEntry]:
    with ChatGptImporter().open(path) as reader:
        return list(reader.sessions())


def test_an_archive_with_many_files_is_one_history(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations-000.json", json.dumps([talk(1), talk(2)]))
        archive.writestr("conversations-001.json", json.dumps([talk(3)]))
        archive.writestr("user.json", "not read")
    found = ChatGptImporter().claims(path)
    assert found is not None
    assert found.sessions == 3
    assert ClaudeAiImporter().claims(path) is None
    with ChatGptImporter().open(path) as reader:
        assert [one.native_id for one in reader.sessions()] == ["chat-1", "chat-2", "chat-3"]
        assert reader.read("chat-3").messages[0].content == "Hello"


@pytest.mark.parametrize("size", [5, 7, 1 << 20])
def test_elements_are_found_wherever_the_pieces_end(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_importer, "_PIECE_BYTES", size)
    values = [{"a": '] , é 日本 \\ " '}, {"b": [1, {"c": "}"}]}, {}]
    text = "\ufeff " + json.dumps(values, ensure_ascii=False, indent=1)
    assert [json.loads(one) for one in iterate_array(io.BytesIO(text.encode()))] == values


def test_an_array_that_ends_early_gives_what_is_there_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([talk(1), talk(2)])[:-40])
    good, bad = sorted(list_entries(path), key=lambda one: bool(one.problem))
    assert good.native_id == "chat-1"
    assert "after 1 conversations" in bad.problem


@pytest.mark.parametrize("text", ["", "{}", "7", "[" * 100_000, '{"a": ' * 100_000, "[7]", "[null]", "\x00\xff"])
def test_what_is_not_an_export_is_not_claimed(text: str, tmp_path: Path) -> None:
    for name in ("conversations.json", "conversations.zip"):
        (tmp_path / name).write_text(text)
        assert ChatGptImporter().claims(tmp_path / name) is None


def test_an_archive_that_unpacks_to_too_much_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_importer, "MAX_FILE_BYTES", 3_000_000)
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([talk(1)])[:-1] + "," + " " * 20_000_000)
    assert path.stat().st_size < 100_000
    assert any("more than" in one.problem for one in list_entries(path))
