"""Aider: `.aider.chat.history.md` of a repository. A person names the file or its folder: homes are not searched.

The file has no ids, and no times but the start of each session. A heading inside a fence of code is code.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import FileImporter, StoredSession, read_start
from sojourn.importers.regular_file import MAX_FILE_BYTES, read_regular
from sojourn.importers.transcript_builder import TranscriptBuilder, make_title
from sojourn.ports.importer import FoundHistory, Transcript
from sojourn.ports.plugin import Plugin
from sojourn.text.escape import from_bytes, to_bytes

NAME = "aider"
_FILE = ".aider.chat.history.md"
_DEPTH = 2  # folders below the one that a person names
_HEADER = re.compile(rb"\A\s*(# aider chat started at \d{4}-)")
_START = re.compile(r"\A# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*\Z")
_FENCE = re.compile(r"\A(`{3,}|~{3,})")
_MODEL = re.compile(r"\A> (?:Main )?[Mm]odel: (\S+)")
_SPENT = re.compile(r"\A> Tokens: ([\d.]+k?M?) sent,(?: [\d.]+k?M? cache (?:write|hit),)* ([\d.]+k?M?) received")
_COST = re.compile(r"Cost: \$([\d.]+) message")
_COMMAND = re.compile(r"\A[/!]")


class AiderImporter(FileImporter):
    """Imports chat histories of Aider."""

    name, label = NAME, "Aider"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return []

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        """Only the file that the person's own settings name."""
        named = environment.get("AIDER_CHAT_HISTORY_FILE")
        found = self.claims(Path(named)) if named else None
        return [found] if found else []

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        for path in [home] if home.is_file() else _find_files(home):
            yield from _list_file(path)

    def read_session(self, one: StoredSession) -> Transcript:
        sessions = _load_sessions(one.path, _read_mark(one.path))
        session = sessions.get(one.native_id.partition("-")[2])
        if session is None:
            raise SourceUnreadable(f"Session {one.native_id} is gone from {one.path}.", hint="The file was changed.")
        builder = TranscriptBuilder(one.began)
        models = _add_lines(builder, session)
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        fields = {
            "source": NAME,
            "title": make_title(next((one for one in prompts if not _COMMAND.match(one)), "")),
            "cwd": str(one.path.parent),
            "model": models[-1] if models else None,
            "started_at": one.began,
        }
        return builder.build(one.native_id, fields)


def _find_files(folder: Path) -> Iterator[Path]:
    """The histories in a folder and a few levels below; links are not followed."""
    for root, folders, files in os.walk(folder):
        depth = len(Path(root).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < _DEPTH else []
        if _FILE in files:
            yield Path(root) / _FILE


def _list_file(path: Path) -> Iterator[StoredSession]:
    home = hashlib.sha256(to_bytes(os.path.realpath(path))).hexdigest()[:12]
    if path.name != _FILE and not read_start(path, _HEADER):
        return
    try:
        sessions = _load_sessions(path, _read_mark(path))
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror or error}"
        yield StoredSession(native_id=home, path=path, problem=why)
        return
    if not sessions:
        why = f"{path} has no session that begins with a time"
        yield StoredSession(native_id=home, path=path, problem=why)
    for own, lines in sessions.items():
        text = to_bytes("\n".join(lines))
        yield StoredSession(
            native_id=f"{home}-{own}",
            path=path,
            fingerprint=hashlib.sha256(text).hexdigest()[:24],
            began=datetime.fromisoformat(own[:15]).timestamp(),  # without a zone: the machine's own
            size=len(text),
        )


def _read_mark(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=1)
def _load_sessions(path: Path, mark: tuple[int, int]) -> dict[str, list[str]]:
    """The lines of each session, by its moment; `mark` changes with the file."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []  # those before the first session are nobody's
    for line in from_bytes(read_regular(path, MAX_FILE_BYTES // 8)).splitlines():
        start = _START.match(line)
        if start and _is_moment(start[1]):
            moment = datetime.fromisoformat(start[1]).strftime("%Y%m%dT%H%M%S")
            own, number = moment, 1
            while own in found:
                number += 1
                own = f"{moment}-{number}"
            lines = found.setdefault(own, [])
        else:
            lines.append(line)
    return found


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).year > 1970
    except ValueError:
        return False


def _add_lines(builder: TranscriptBuilder, lines: list[str]) -> list[str]:
    """Adds what the lines say; returns the models that were used."""
    models: list[str] = []
    block: list[str] = []
    role = fence = ""

    def close() -> None:
        text = "\n".join(block).strip("\n")
        if role and text.strip():
            is_command = role == "user" and bool(_COMMAND.match(text))
            builder.add("system" if is_command else role, str(len(builder.messages) + 1), 0.0, content=text)
        block.clear()

    for line in lines:
        kind, text = ("assistant", line) if fence else _sort_line(line, role)
        if kind != role or (kind == "system" and line.startswith("> ")):
            close()
            role = kind
        if kind == "assistant" and (mark := _FENCE.match(line)):
            fence = mark[1] if not fence else "" if line.strip() == mark[1] and mark[1].startswith(fence) else fence
        if kind == "system":
            _note_model(builder, line, models)
        block.append(text)
    close()
    return models


def _sort_line(line: str, role: str) -> tuple[str, str]:
    """Whose line it is, and its text. Only the first line of a notice is marked; a blank one ends it."""
    if line.startswith("#### "):
        text = line[5:].rstrip()
        return "user", "" if text == "<blank>" else text
    if line.startswith("> ") or (role == "system" and line.strip()):
        return "system", line.removeprefix("> ").rstrip()
    if not line.strip():
        return (role if role != "system" else ""), ""
    return "assistant", line


def _note_model(builder: TranscriptBuilder, line: str, models: list[str]) -> None:
    if found := _MODEL.match(line):
        models.append(found[1])
    if spent := _SPENT.match(line):
        cost = _COST.search(line)
        builder.usage.add(
            models[-1] if models else "",
            cost=float(cost[1]) if cost and cost[1].count(".") < 2 else None,
            input_tokens=_to_number(spent[1]),
            output_tokens=_to_number(spent[2]),
        )


def _to_number(text: str) -> int:
    """A count as the program prints it: `512`, `2.1k`, `1.2M`."""
    number, factor = text.rstrip("kM"), 1000 if text.endswith("k") else 1_000_000 if text.endswith("M") else 1
    return round(float(number) * factor) if number.count(".") < 2 and number.strip(".") else 0


plugin = Plugin(name=NAME, summary="Imports chat histories of Aider.", sources=[AiderImporter])
