"""Exports made to hang or swell an import, or to reach another file: archives of chats, and our own export."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import subprocess
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.importers import export_importer
from sojourn.importers.chatgpt import ChatGptImporter
from tests.e2e.http_server import PROGRAM

MAX_SECONDS = 150  # generous: the machine is shared; without limits these take half an hour
MAX_RESIDENT_KB = 2_600_000
PIECE = b'{"mapping":{},"id":"%d"},'
CANARY = "the words of a file that is no part of the export"


def compress_array(megabytes: int) -> tuple[bytes, int, int]:
    """A JSON array of empty conversations, deflated; with its size and checksum."""
    deflate, crc, size = zlib.compressobj(9, zlib.DEFLATED, -15), 0, 0
    packed = bytearray()
    block = b"".join(PIECE % 7 for _ in range(4_000))
    for part in (b"[", *([block] * (megabytes * 1_000_000 // len(block))), b'{"mapping":{},"id":"8"}]'):
        packed += deflate.compress(part)
        crc, size = zlib.crc32(part, crc), size + len(part)
    return bytes(packed + deflate.flush()), size, crc


def write_overlapping(path: Path, members: int, megabytes: int) -> None:
    """An archive whose members are all the same bytes of the file: small, and unpacked as large as one likes."""
    packed, size, crc = compress_array(megabytes)
    name = b"0/conversations.json"
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, crc, len(packed), size, len(name), 0) + name
    central = b""
    for _ in range(members):
        head = struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, crc, len(packed), size, len(name), 0, 0, 0, 0, 0, 0
        )
        central += head + name
    start = len(local) + len(packed)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, members, members, len(central), start, 0)
    path.write_bytes(local + packed + central + end)


def write_nested(path: Path) -> None:
    """A chain of a hundred thousand messages, an array of a million brackets, and numbers that are none."""
    nodes = {str(n): {"parent": str(n - 1), "message": None} for n in range(100_000)}
    odd = {
        "mapping": {"a": {"parent": "a", "message": {"create_time": 1e300, "content": {"parts": [1e308]}}}},
        "id": "odd",
        "create_time": 1e300,
        "update_time": -1e300,
        "title": ["x"] * 10,
    }
    text = json.dumps([{"mapping": nodes, "current_node": "99999", "id": "chain"}, odd])[:-1]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", f'{text}, {{"mapping": {"[" * 1_000_000}')


def write_climbing(path: Path) -> None:
    """Members and files that are named as places elsewhere."""
    secret = path.parent / "elsewhere.json"
    secret.write_text(json.dumps([{"mapping": {}, "id": CANARY, "title": CANARY}]))
    files = [{"file_name": "../../elsewhere.json"}, {"file_name": "/etc/passwd"}]
    said = {"sender": "human", "text": "hello", "uuid": "m", "files": files, "attachments": files}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"../{path.parent.name}/elsewhere.json", "[]")
        archive.writestr("../../conversations.json", json.dumps([{"uuid": "../../x", "chat_messages": [said]}]))


Make = Callable[[Path], None]
HOSTILE = [  # how it is made, a word of what is said
    pytest.param(lambda path: write_overlapping(path, 60, 400), "unpacked", marks=pytest.mark.soak, id="overlapping"),
    pytest.param(write_nested, "nested too deeply", id="nested"),
]


def run_import(tmp_path: Path, path: Path) -> tuple[str, int]:
    """Imports with the program; what it said, and how much memory it took. Fails if it hangs."""
    arguments = [str(PROGRAM), "--home", str(tmp_path / "home"), "import", str(path), "--yes"]
    began = time.monotonic()
    with (tmp_path / "said").open("w+") as said:
        environment = {**os.environ, "HOME": str(tmp_path), "COLUMNS": "500"}
        process = subprocess.Popen(arguments, stdout=said, stderr=said, env=environment)
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() - began > MAX_SECONDS:
                process.kill()
                process.wait()
                pytest.fail("the import hangs")
            time.sleep(0.1)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
        said.seek(0)
        return said.read(), ended[2].ru_maxrss


@pytest.mark.parametrize(("make", "word"), HOSTILE)
def test_an_archive_that_never_ends_is_told_and_ends(tmp_path: Path, make: Make, word: str) -> None:
    path = tmp_path / "export.zip"
    make(path)
    assert path.stat().st_size < 40_000_000
    said, resident = run_import(tmp_path, path)
    assert word in said, said[-2000:]
    assert "Traceback" not in said
    assert resident < MAX_RESIDENT_KB


def test_the_files_of_an_archive_have_one_limit_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "export.zip"
    write_overlapping(path, 30, 1)
    monkeypatch.setattr(export_importer, "MAX_EXPORT_BYTES", 300_000)
    with ChatGptImporter().open(path) as history:
        listed = list(history.sessions())
    assert "unpacked" in listed[-1].problem
    assert sum(bool(one.problem) for one in listed) == 1


def test_names_in_an_archive_lead_nowhere(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    write_climbing(folder / "export.zip")
    before = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*"))
    said, _ = run_import(tmp_path, folder / "export.zip")
    assert "1 session" in said, said
    after = [str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if not one.is_relative_to(tmp_path / "home")]
    assert sorted(set(after) - {"said"}) == before
    shown = subprocess.run(
        [str(PROGRAM), "--home", str(tmp_path / "home"), "sessions", "export", "--all", "--format", "jsonl"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    ).stdout
    assert "hello" in shown
    assert CANARY not in shown
    assert "root:" not in shown


def test_a_file_in_our_own_export_is_what_its_hash_says_and_never_a_path(tmp_path: Path) -> None:
    data = base64.b64encode(b"one").decode()
    session = {
        "id": "20260102_030405_aaaaaaaa",
        "source": "cli",
        "last_seq": 1,
        "driver": None,
        "copied": 0,
        "started_at": "2026-01-02T03:04:05Z",
        "messages": [{"seq": 1, "role": "user", "content": "hello"}],
    }
    file = {"type": "file", "session": session["id"], "media_type": "text/html", "data": data}
    lines = [
        session,
        {**file, "hash": hashlib.sha256(b"one").hexdigest(), "name": "../../../../evil.html"},
        {**file, "hash": "../../../evil", "name": "b"},
        {**file, "hash": "0" * 64, "name": "c", "data": "not base64"},
    ]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    said, _ = run_import(tmp_path, path)
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*evil*"))
