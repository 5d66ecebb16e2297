"""Damages the files of a history as disks, crashes and attackers do."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

_DEPTH = 20_000  # of nested lists; a parser without a limit overflows its stack
_GARBAGE = b"\x00\xff\xfe neither text nor a record \xed\xa0\x80\n"


def damage(path: Path, kind: str, seed: int) -> None:
    """Damages one file in the way of `kind`, the same way each time."""
    {**DAMAGES, **SPECIAL_FILES}[kind](path, random.Random(seed))


def _truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(max(path.stat().st_size, 1)))


def _empty(path: Path, chance: random.Random) -> None:
    os.truncate(path, 0)


def _flip_bytes(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes() or b"\n")
    for _ in range(max(len(content) // 200, 3)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def _zero_block(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    start = chance.randrange(max(len(content), 1))
    path.write_bytes(content[:start] + bytes(min(4096, len(content) - start)) + content[start + 4096 :])


def _repeat_part(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    start = chance.randrange(max(len(content), 1))
    path.write_bytes(content[:start] + content[max(start - 500, 0) :])


def _insert_garbage(path: Path, chance: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(chance.randrange(len(lines) + 1), _GARBAGE * 3)
    path.write_bytes(b"".join(lines))


def _insert_hostile(path: Path, chance: random.Random) -> None:
    """Lines that are JSON, but nothing that a program would write."""
    hostile = (
        b'{"type": "' + b"x" * 100_000 + b'"}\n',
        b'{"id": {"id": [{}]}, "type": ["user"], "message": 7, "timestamp": 1e999, "role": {}}\n',
        b'{"type": "user", "id": "\\ud800", "timestamp": -1e308, "message": {"role": "user", "content": [null, 7]}}\n',
        b'{"v": ' + b"[" * _DEPTH + b"]" * _DEPTH + b"}\n",
        b'{"n": ' + b"9" * 5_000 + b"}\n",
        b"[1, 2, 3]\n",
    )
    lines = path.read_bytes().splitlines(keepends=True)
    for line in hostile:
        lines.insert(chance.randrange(len(lines) + 1), line)
    path.write_bytes(b"".join(lines))


def _replace_by_nesting(path: Path, chance: random.Random) -> None:
    path.write_bytes(b'{"messages": ' + b"[" * _DEPTH)


def _replace_by_pipe(path: Path, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _replace_by_endless_file(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _replace_by_folder(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_circle(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.name)


DAMAGES: Mapping[str, Callable[[Path, random.Random], None]] = MappingProxyType(
    {
        "half written": _truncate,
        "empty": _empty,
        "flipped bytes": _flip_bytes,
        "a block of zeros": _zero_block,
        "a part twice": _repeat_part,
        "garbage between": _insert_garbage,
        "hostile records": _insert_hostile,
        "nothing but nesting": _replace_by_nesting,
    }
)
SPECIAL_FILES: Mapping[str, Callable[[Path, random.Random], None]] = MappingProxyType(
    {
        "a pipe": _replace_by_pipe,
        "an endless file": _replace_by_endless_file,
        "a folder": _replace_by_folder,
        "a link to itself": _replace_by_circle,
    }
)
