"""Bundles: numbered, chained files of one machine in a shared folder, encrypted and signed with the group's key.

A bundle is a line of JSON and a ciphertext; AES-GCM signs both. Each names the hash of the one before it, so none can
be changed, left out, repeated or put under another number. A machine writes into its own folder only, and never
changes what it has written.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sojourn.core.errors import BadInput, SourceUnreadable

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

VERSION = 1
GROUP_FILE = "sojourn-group.json"
MAX_BUNDLE_BYTES = 1 << 30
_FORMAT = "sojourn-sync"
_KEY_BYTES, _NONCE_BYTES = 32, 12
_GROUP = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"(\d{8})\.bundle")


class BadBundle(SourceUnreadable):
    """A bundle that is damaged, or is not what its machine wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far the bundles of a machine were read or written: the last number, and the hash of that file."""

    number: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """The key of a group of machines. It is a file in each home, and never in the folder."""

    group: str
    secret: bytes

    def write_bundle(self, folder: Path, machine: str, last: Cursor, entries: list[dict[str, Any]]) -> Cursor:
        """Writes the next bundle of a machine; it is whole, or not there. OSError."""
        number, nonce = last.number + 1, os.urandom(_NONCE_BYTES)
        header = json.dumps(
            {
                "format": _FORMAT,
                "version": VERSION,
                "group": self.group,
                "machine": machine,
                "number": number,
                "previous": last.hash,
                "nonce": base64.b64encode(nonce).decode(),
            }
        ).encode()
        lines = "\n".join(json.dumps(one, ensure_ascii=False) for one in entries)
        packed = zstd.compress(lines.encode("utf-8", "surrogatepass"))
        data = header + b"\n" + AESGCM(self.secret).encrypt(nonce, packed, header)
        target = folder / machine / f"{number:08}.bundle"
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                raise FileExistsError(17, "the bundle is there already", str(target))
            part.replace(target)  # no link: the file systems of sticks have none
        finally:
            part.unlink(missing_ok=True)
        return Cursor(number=number, hash=hashlib.sha256(data).hexdigest())

    def read_bundle(self, path: Path, machine: str, last: Cursor) -> tuple[Cursor, Iterator[dict[str, Any]]]:
        """The entries of the bundle that follows `last`. BadBundle."""
        try:
            if path.stat().st_size > MAX_BUNDLE_BYTES:
                raise BadBundle("it is larger than 1 GB")
            data = path.read_bytes()
        except OSError as error:
            raise BadBundle(f"it cannot be read: {error.strerror or error}") from error
        head, _, sealed = data.partition(b"\n")
        header = _parse_header(head)
        if header.get("version") != VERSION:
            raise BadBundle("a later version of Sojourn wrote it; update this one")
        try:
            nonce = base64.b64decode(str(header.get("nonce")), validate=True)
            packed = AESGCM(self.secret).decrypt(nonce, sealed, head)
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise BadBundle("its signature is wrong: it is incomplete, was changed, or has another key") from error
        expected = (self.group, machine, last.number + 1, last.hash)
        if (header.get("group"), header.get("machine"), header.get("number"), header.get("previous")) != expected:
            raise BadBundle("it does not follow the bundle before it: it was repeated, renamed or replaced")
        cursor = Cursor(number=last.number + 1, hash=hashlib.sha256(data).hexdigest())
        return cursor, _decode_entries(packed)


def _parse_header(head: bytes) -> dict[str, Any]:
    try:
        header = json.loads(head)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise BadBundle("it is not a bundle, or is incomplete")
    return header


def _decode_entries(packed: bytes) -> Iterator[dict[str, Any]]:
    """Members of the group are trusted with content, not with memory: a line is read at a time."""
    decompressor, rest = zstd.ZstdDecompressor(), b""
    data = packed
    try:
        while not decompressor.eof:
            piece = decompressor.decompress(data, max_length=1 << 20)
            data = b""
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(_decode_entry, lines)
            if not piece and decompressor.needs_input:
                raise BadBundle("it is damaged")
    except zstd.ZstdError as error:
        raise BadBundle("it is damaged") from error
    if rest:
        yield _decode_entry(rest)


def _decode_entry(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        entry = None
    return entry if isinstance(entry, dict) else {}


def list_machines(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.is_dir() and _GROUP.fullmatch(one.name))


def list_bundles(folder: Path, machine: str) -> dict[int, Path]:
    """The bundles of a machine by number."""
    found = ((_NAME.fullmatch(one.name), one) for one in (folder / machine).iterdir())
    return {int(hit[1]): path for hit, path in found if hit}


def open_group(folder: Path, home: Path) -> tuple[GroupKey, bool]:
    """The key of the folder's group; True if the group was begun just now. BadInput."""
    if not folder.is_dir():
        raise BadInput(f"There is no folder {folder}.", hint="Make it, or mount it, then try again.")
    mark = folder / GROUP_FILE
    if not mark.exists():
        if list_machines(folder):
            raise BadInput(f"{mark} is missing.", hint="The folder is not complete yet; let it finish copying.")
        key = GroupKey(group=os.urandom(8).hex(), secret=os.urandom(_KEY_BYTES))
        _write_key(_key_file(home, key.group), key)
        mark.write_text(json.dumps({"format": _FORMAT, "version": VERSION, "group": key.group}) + "\n", "utf-8")
        return key, True
    try:
        group = str(json.loads(mark.read_text("utf-8"))["group"])
    except (OSError, ValueError, KeyError, TypeError):
        group = ""
    if not _GROUP.fullmatch(group):
        raise BadInput(f"{mark} cannot be read.", hint="Restore it, or name another folder.")
    return _read_key(_key_file(home, group), group), False


def _key_file(home: Path, group: str) -> Path:
    return home / f"sync-{group}.key"


def _write_key(path: Path, key: GroupKey) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(base64.b64encode(key.secret).decode() + "\n")


def _read_key(path: Path, group: str) -> GroupKey:
    try:
        mode = path.stat().st_mode
        secret = base64.b64decode(path.read_text("ascii").strip(), validate=True)
    except FileNotFoundError as error:
        raise BadInput(
            f"The key of this folder's group is not here: {path}",
            hint=f"Copy {path.name} from the home of another machine, by ssh for example; not through the folder.",
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read.", hint="Copy it from another machine again.") from error
    if len(secret) != _KEY_BYTES:
        raise BadInput(f"{path} is not a key.", hint="Copy it from another machine again.")
    if os.name == "posix" and mode & 0o077:
        raise BadInput(f"Others can read {path}.", hint=f"`chmod 600 {path}`, then try again.")
    return GroupKey(group=group, secret=secret)
