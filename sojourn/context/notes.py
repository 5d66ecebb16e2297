"""Notes: a folder of Markdown files, indexed by section. They belong to the owner; guests see none."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import to_contribution
from sojourn.context.query_expansion import expand_query, spoken_forms
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import OWNER
from sojourn.ports.app import HasSettings, Shared
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.text.tokenizer import stem_words

MAX_FILES, MAX_FILE_BYTES, MAX_SECTIONS = 2000, 512 * 1024, 4  # of one folder; of one file; in one answer
MAX_NAME_BYTES = 200  # with its folders; file systems take 255 for each
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_MIN_SHARE, _MAX_COUNTED_WORDS = 0.35, 6  # share of the request's words that a section must have; at most so many count


@dataclass(frozen=True, slots=True)
class NoteSection:
    """A section of a note with its headings."""

    file: str  # below the folder
    heading: str  # "Garden › Tomatoes"
    text: str


class Notes:
    """Index of the notes: `app.shared(Notes)`. Reads a file again when its time or size has changed."""

    def __init__(self, app: HasSettings) -> None:
        folder = str(app.settings["memory.notes"])
        self.folder = app.settings.user_home / folder.removeprefix("~/") if folder else app.settings.home / "notes"
        self._read: dict[str, tuple[tuple[int, int], list[NoteSection]]] = {}
        self._problems: dict[str, str] = {}
        self._index: tuple[list[NoteSection], Bm25Index] = ([], Bm25Index([]))
        self._lock = threading.Lock()

    def search(self, request: str, most: int = MAX_SECTIONS) -> tuple[list[tuple[NoteSection, str]], list[str]]:
        """Returns the sections that match a request, each with a reason, and files that could not be read. Blocks."""
        with self._lock:
            self._refresh()
            sections, index = self._index
            problems = [f"note {name}: {why}" for name, why in sorted(self._problems.items())]
        weighted = expand_query(request, index)
        own_words = sum(weight == 1.0 for weight in weighted.values())
        needed = _MIN_SHARE * min(own_words, _MAX_COUNTED_WORDS)
        scores, forms = index.score(weighted), spoken_forms(request)
        found: list[tuple[NoteSection, str]] = []
        for number in sorted(range(len(sections)), key=lambda n: -scores[n])[:most]:
            shared = index.shared_words(number, weighted)
            if shared and sum(weighted[word] for word in shared if index.is_distinctive(word)) >= needed:
                found.append(
                    (sections[number], f"it has {', '.join(f'“{forms.get(word, word)}”' for word in shared[:4])}")
                )
        return found, problems

    def describe(self) -> tuple[list[tuple[str, int]], list[str]]:
        """Every note with the number of its sections, and files that could not be read. Blocks."""
        with self._lock:
            self._refresh()
            problems = [f"{name}: {why}" for name, why in sorted(self._problems.items())]
            return [(name, len(sections)) for name, (_, sections) in self._read.items()], problems

    def read(self, name: str) -> str:
        """The text of a note. NotFound."""
        try:
            return self._find_file(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise NotFound(f"There is no note {name} in {self.folder}.", hint="Look at the list of notes.") from None

    def save(self, name: str, text: str) -> None:
        """Writes a note. BadInput if it would lie outside the folder."""
        path = self._find_file(name)
        draft = path.with_name(f".{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.write_text(text, "utf-8")
            draft.replace(path)
        except OSError as error:
            raise BadInput(f"The note cannot be written: {error.strerror}.", hint="Choose another name.") from error

    def delete(self, name: str) -> None:
        """Deletes a note. NotFound."""
        try:
            self._find_file(name).unlink()
        except OSError:
            raise NotFound(f"There is no note {name} in {self.folder}.", hint="Look at the list of notes.") from None

    def _find_file(self, name: str) -> Path:
        if len(name.encode(errors="replace")) > MAX_NAME_BYTES or "\0" in name:
            raise BadInput("A note cannot have this name.", hint=f"Use at most {MAX_NAME_BYTES} bytes of plain text.")
        path = self.folder / name
        if path.is_symlink() or not path.resolve().is_relative_to(self.folder.resolve()):
            raise BadInput(f"{name} is not in the folder of notes.", hint="Change it where it is.")
        if not name.lower().endswith((".md", ".markdown")) or Path(name).name.startswith("."):
            raise BadInput("A note is a Markdown file.", hint="Call it something like garden.md.")
        return path

    def _refresh(self) -> None:
        seen: dict[str, tuple[tuple[int, int], list[NoteSection]]] = {}
        self._problems = {}
        for path in _list_files(self.folder, self._problems):
            name = str(path.relative_to(self.folder))
            try:
                facts = path.stat()
                stamp = (facts.st_mtime_ns, facts.st_size)
                known = self._read.get(name)
                seen[name] = (
                    known if known and known[0] == stamp else (stamp, self._read_sections(path, name, stamp[1]))
                )
            except (OSError, UnicodeDecodeError) as error:
                self._problems[name] = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        if seen != self._read:
            self._read = seen
            sections = [section for _, found in seen.values() for section in found]
            self._index = (sections, Bm25Index([[(one.file, 1), (one.heading, 2), (one.text, 1)] for one in sections]))

    def _read_sections(self, path: Path, name: str, size: int) -> list[NoteSection]:
        if size > MAX_FILE_BYTES:
            self._problems[name] = f"it has more than {MAX_FILE_BYTES // 1024} kB"
            return []
        return list(split_sections(path.read_text("utf-8"), name))


def _list_files(folder: Path, problems: dict[str, str]) -> Iterator[Path]:
    if not folder.exists():
        return
    count = 0
    for place, folders, files in os.walk(
        folder, onerror=lambda error: problems.update({str(error.filename): str(error)})
    ):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith((".md", ".markdown")) and not name.startswith("."):
                count += 1
                if count > MAX_FILES:
                    problems[str(folder)] = f"there are more than {MAX_FILES} notes; the rest was not read"
                    return
                yield Path(place) / name


def split_sections(text: str, file: str) -> Iterator[NoteSection]:
    """Yields the sections of a Markdown text; ignores headings inside code fences."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    is_fenced = False

    def section() -> Iterator[NoteSection]:
        body = "\n".join(lines).strip()
        if body:
            yield NoteSection(file, " › ".join(title for _, title in path), body)
        lines.clear()

    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_fenced = not is_fenced
        heading = None if is_fenced else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield from section()
        level = len(heading[1])
        path = [*(one for one in path if one[0] < level), (level, heading[2])]
    yield from section()


class NoteSource:
    """Context source: the sections of the owner's notes that match a request."""

    name = "notes"
    stage: Stage = "memory"

    def __init__(self, app: Shared) -> None:
        self._app = app

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        notes = self._app.shared(Notes)
        if request.session.principal != OWNER or not notes.folder.exists() or not stem_words(request.said):
            return ContextContribution()
        found, problems = await asyncio.to_thread(notes.search, request.said)
        blocks = [
            ContextBlock(
                kind="note",
                title=section.heading or section.file,
                text=section.text,
                origin=f"note {section.file}",
                reason=reason,
            )
            for section, reason in found
        ]
        return to_contribution(blocks, request.budget, problems)
