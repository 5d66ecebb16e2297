"""A library of files: `<folder>/<name>.json`, each a template in the plain format.

What we know besides lies in `<folder>/.sojourn/`, so that the files stay what other programs expect.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import quote, unquote

from sojourn.core.errors import BadInput, SojournError
from sojourn.core.messages import Json
from sojourn.templates.files import hold_lock, read_json, translate_errors, write_json
from sojourn.templates.library import (
    About,
    Library,
    LibraryContents,
    NoteKind,
    Step,
    StoredTemplate,
    Unreadable,
    sort_newest_first,
    to_conflict,
    to_not_found,
)
from sojourn.templates.model import SessionTemplate, check_file_name, check_name

FOLDER = "session-templates"
_BESIDE = ".sojourn"


class FolderLibrary(Library):
    """Library in a folder. Safe with several processes: changes hold one lock, and files are replaced whole."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def all(self) -> LibraryContents:
        return await asyncio.to_thread(self._all)

    async def get(self, name: str) -> StoredTemplate:
        return await asyncio.to_thread(self._get, check_file_name(name))

    async def save(self, stored: StoredTemplate, *, replace: bool = False) -> None:
        await asyncio.to_thread(self._save, stored, replace)

    async def delete(self, name: str) -> bool:
        return await asyncio.to_thread(self._delete, check_file_name(name))

    async def change(self, name: str, step: Step) -> StoredTemplate:
        return await asyncio.to_thread(self._change, check_file_name(name), step)

    async def notes(self, kind: NoteKind) -> dict[str, Json]:
        return await asyncio.to_thread(self._notes, kind)

    async def read_note(self, kind: NoteKind, key: str) -> Json | None:
        return await asyncio.to_thread(_read_beside, self._note_file(kind, key))

    async def note(self, kind: NoteKind, key: str, value: Json | None) -> None:
        await asyncio.to_thread(self._note, kind, key, value)

    # -- the same, waiting for the disk ------------------------------------------------

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _about(self, name: str) -> Path:
        return self.folder / _BESIDE / "about" / f"{name}.json"

    def _all(self) -> LibraryContents:
        stored: list[StoredTemplate] = []
        unreadable: list[Unreadable] = []
        with translate_errors(self.folder):
            files = sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []
        for file in files:
            try:
                stored.append(self._read(file))
            except SojournError as error:
                unreadable.append(Unreadable(file.stem, str(error)))
        return LibraryContents(sort_newest_first(stored), tuple(unreadable))

    def _get(self, name: str) -> StoredTemplate:
        file = self._file(name)
        if not file.exists():
            raise to_not_found(name)
        return self._read(file)

    def _read(self, file: Path) -> StoredTemplate:
        """The template of a file. Its name is the file's name, whatever the text inside says."""
        template = SessionTemplate.from_dict(read_json(file))
        template.name = file.stem
        return StoredTemplate(template, About.from_dict(_read_beside(self._about(file.stem))))

    def _save(self, stored: StoredTemplate, may_replace: bool) -> None:
        name = check_name(stored.template.name)
        with hold_lock(self.folder / ".lock"):
            if not may_replace and self._file(name).exists():
                raise to_conflict(name)
            write_json(self._about(name), stored.about.to_dict())
            write_json(self._file(name), stored.template.to_dict())

    def _delete(self, name: str) -> bool:
        with hold_lock(self.folder / ".lock"):
            was_there = self._file(name).exists()
            self._remove(name)
        return was_there

    def _remove(self, name: str) -> None:
        with translate_errors(self.folder):
            self._file(name).unlink(missing_ok=True)
            self._about(name).unlink(missing_ok=True)

    def _change(self, name: str, step: Step) -> StoredTemplate:
        with hold_lock(self.folder / ".lock"):
            old = self._get(name)
            new = step(old)
            is_renamed = new.template.name != name
            if is_renamed and self._file(check_name(new.template.name)).exists():
                raise to_conflict(new.template.name)
            if is_renamed or new.about != old.about:
                write_json(self._about(new.template.name), new.about.to_dict())
            write_json(self._file(new.template.name), new.template.to_dict())
            if is_renamed:
                self._remove(name)
        return new

    def _notes(self, kind: NoteKind) -> dict[str, Json]:
        folder = self.folder / _BESIDE / kind
        files = sorted(folder.glob("*.json")) if folder.is_dir() else []
        found = {unquote(file.stem): _read_beside(file) for file in files}
        return {key: value for key, value in found.items() if value is not None}

    def _note_file(self, kind: NoteKind, key: str) -> Path:
        return self.folder / _BESIDE / kind / f"{quote(key, safe='')[:200]}.json"

    def _note(self, kind: NoteKind, key: str, value: Json | None) -> None:
        file = self._note_file(kind, key)
        if value is None:
            with translate_errors(file):
                file.unlink(missing_ok=True)
        else:
            write_json(file, value, durable=False)  # written after every turn; a lost one counts as never written


def _read_beside(file: Path) -> Json | None:
    """Reads a file beside the templates; None if it is missing, or damaged: then it counts as never written."""
    try:
        return read_json(file) if file.exists() else None
    except BadInput:
        return None
