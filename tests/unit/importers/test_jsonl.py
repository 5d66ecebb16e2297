"""Lines of other programs, whole, torn and packed."""

import gzip
from pathlib import Path

import pytest

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.text.escape import to_bytes


def test_lines_are_numbered_as_they_stand_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"b": 2}\r\n{"c": 3}')
    assert [(line.number, line.record) for line in JsonLinesFile(path)] == [(1, {"a": 1}), (3, {"b": 2}), (4, {"c": 3})]


def test_a_last_line_that_is_not_finished_is_left_for_next_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n{"b": "unfin')
    file = JsonLinesFile(path)
    assert [line.number for line in file] == [1]
    assert file.unreadable == []
    assert "line 2 of a.jsonl is incomplete" in file.warnings[0]
    path.write_bytes(b'{"a": 1}\n{"b": "unfinished no more"}\n')
    assert [line.number for line in JsonLinesFile(path)] == [1, 2]


@pytest.mark.parametrize("broken", [b'{"b": "unfin', b"\x00" * 40, b"[1, 2]", b'{"a": ' * 5000, b"\xff\xfe{"])
def test_a_line_that_cannot_be_read_is_named_and_kept(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": 1}\n' + broken + b'\n{"c": 3}\n')
    file = JsonLinesFile(path)
    assert [line.number for line in file] == [1, 3]
    assert [(kind, to_bytes(text)) for kind, text in file.unreadable] == [("unreadable", broken)]
    assert "line 2 of a.jsonl cannot be read" in file.warnings[0]


def test_bytes_that_are_no_text_are_kept_inside_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"a": "caf\xe9 \\ud800"}\n')
    [line] = JsonLinesFile(path)
    assert line.record == {"a": "caf\udce9 \ud800"}


def test_a_file_without_one_readable_line_is_unreadable_not_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\x7fELF nonsense\nmore of it\n")
    with pytest.raises(SourceUnreadable, match=r"a\.jsonl"):
        list(JsonLinesFile(path))
    path.write_bytes(b"")
    assert list(JsonLinesFile(path)) == []


def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match=r"gone\.jsonl"):
        list(JsonLinesFile(tmp_path / "gone.jsonl"))


def test_packed_lines_are_unpacked_as_far_as_they_go(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress(b'{"a": 1}\n' * 5000)
    path.write_bytes(packed)
    assert len(list(JsonLinesFile(path))) == 5000
    path.write_bytes(packed[:-12])
    file = JsonLinesFile(path)
    assert list(file)
    assert "ends early" in file.warnings[0]
    path.write_bytes(b"not packed at all")
    with pytest.raises(SourceUnreadable, match=r"a\.jsonl\.gz"):
        list(JsonLinesFile(path))


def zstd(data: bytes) -> bytes:
    """A frame of zstd that holds its data as it is: the simplest there can be."""
    assert len(data) < 256
    block = (len(data) << 3 | 1).to_bytes(3, "little") + data
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(data)]) + block


def test_zstd_is_unpacked_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstd(b'{"a": 1}\n'))
    assert [line.record for line in JsonLinesFile(path)] == [{"a": 1}]
