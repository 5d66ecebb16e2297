"""Knowledge notes: a folder of Markdown files, known section by section. They are the owner's, guests see none."""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sojourn.context.bm25 import Bm25Index
from sojourn.context.budget import packed
from sojourn.context.query_expansion import as_said, asked
from sojourn.context.stemming import words
from sojourn.core.sessions import OWNER
from sojourn.ports.context import ContextBlock, Contribution, Request, Stage
from sojourn.ports.kit import Kit

MOST_FILES, LARGEST, MOST_SHOWN = 2000, 512 * 1024, 4
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_ENOUGH, _COUNTED = 0.35, 6  # the share of a request's words that a section must have, of so many at most


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a note under its headings."""

    file: str  # below the folder
    heading: str  # "Garden › Tomatoes"
    text: str


class Notes:
    """The notes of this process: `kit.shared(Notes)`. A file is read again when its time or size changed."""

    def __init__(self, kit: Kit) -> None:
        given = str(kit.settings["memory.notes"])
        self.folder = kit.settings.user_home / given.removeprefix("~/") if given else kit.settings.home / "notes"
        self._read: dict[str, tuple[tuple[int, int], list[Section]]] = {}
        self._problems: dict[str, str] = {}
        self._index: tuple[list[Section], Bm25Index] = ([], Bm25Index([]))
        self._lock = threading.Lock()

    def search(self, request: str, most: int = MOST_SHOWN) -> tuple[list[tuple[Section, str]], list[str]]:
        """The sections a request is about, each with the reason; and what could not be read. Blocks."""
        with self._lock:
            self._refresh()
            sections, index = self._index
            problems = [f"note {name}: {why}" for name, why in sorted(self._problems.items())]
        weighted = asked(request, index)
        said = sum(weight == 1.0 for weight in weighted.values())
        needed = _ENOUGH * min(said, _COUNTED)
        scores, forms = index.scores(weighted), as_said(request)
        found: list[tuple[Section, str]] = []
        for number in sorted(range(len(sections)), key=lambda n: -scores[n])[:most]:
            shared = index.shared(number, weighted)
            if shared and sum(weighted[word] for word in shared if index.tells(word)) >= needed:
                found.append(
                    (sections[number], f"it has {', '.join(f'“{forms.get(word, word)}”' for word in shared[:4])}")
                )
        return found, problems

    def _refresh(self) -> None:
        seen: dict[str, tuple[tuple[int, int], list[Section]]] = {}
        self._problems = {}
        for path in _files(self.folder, self._problems):
            name = str(path.relative_to(self.folder))
            try:
                facts = path.stat()
                stamp = (facts.st_mtime_ns, facts.st_size)
                known = self._read.get(name)
                seen[name] = known if known and known[0] == stamp else (stamp, self._sections(path, name, stamp[1]))
            except (OSError, UnicodeDecodeError) as error:
                self._problems[name] = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        if seen != self._read:
            self._read = seen
            sections = [section for _, found in seen.values() for section in found]
            self._index = (sections, Bm25Index([[(one.file, 1), (one.heading, 2), (one.text, 1)] for one in sections]))

    def _sections(self, path: Path, name: str, size: int) -> list[Section]:
        if size > LARGEST:
            self._problems[name] = f"it has more than {LARGEST // 1024} kB"
            return []
        return list(sections_of(path.read_text("utf-8"), name))


def _files(folder: Path, problems: dict[str, str]) -> Iterator[Path]:
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
                if count > MOST_FILES:
                    problems[str(folder)] = f"there are more than {MOST_FILES} notes; the rest was not read"
                    return
                yield Path(place) / name


def sections_of(text: str, file: str) -> Iterator[Section]:
    """The sections of a Markdown text; what is inside a code fence is no heading."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    is_fenced = False

    def section() -> Iterator[Section]:
        body = "\n".join(lines).strip()
        if body:
            yield Section(file, " › ".join(title for _, title in path), body)
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
    """The sections of the owner's notes that a request is about."""

    name = "notes"
    stage: Stage = "memory"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def contribute(self, request: Request) -> Contribution:
        if request.session.principal != OWNER or not words(request.said):
            return Contribution()
        found, problems = await asyncio.to_thread(self._kit.shared(Notes).search, request.said)
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
        return packed(blocks, request.budget, problems)


def make(kit: Kit) -> NoteSource:
    return NoteSource(kit)
