"""The importer for opencode: finds its data folders, databases and session files.

opencode.db                  the database; `opencode-<channel>.db` for preview versions
storage/session/…            files of versions before 1.2
project/*/storage/session/   files of versions before 0.6, which opencode itself must convert
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.opencode.database import list_sessions, open_database, read_session
from sojourn.importers.opencode.files_v0 import FileTree
from sojourn.importers.opencode.rows import NAME, SessionRow
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin


class OpencodeReader:
    """Reads a data folder. A database wins over files, because opencode converts files to a database."""

    def __init__(self, home: Path) -> None:
        folder = home if home.is_dir() else home.parent
        paths = [home] if home.is_file() else sorted(folder.glob("opencode*.db"), key=lambda path: len(path.name))
        self.databases = [open_database(path) for path in paths]
        self._home, self._tree, self._is_folder = folder, FileTree(folder / "storage"), home.is_dir()

    def close(self) -> None:
        for database in self.databases:
            database.close()

    def size(self) -> int:
        size = sum(database.path.stat().st_size for database in self.databases)
        return size + (self._tree.size() if self._is_folder else 0)

    def list_sessions(self) -> list[SessionRow]:
        """All sessions, oldest first, and children last; an unreadable database or file is listed with its problem."""
        found: dict[str, SessionRow] = {}
        for database in self.databases:
            try:
                rows = database.query(list_sessions)
            except SourceUnreadable as error:
                rows = [SessionRow(id=database.path.name, problem=str(error))]
            for row in rows:
                found.setdefault(row.id, row)
        if self._is_folder:
            self._add_files(found)
        return sorted(found.values(), key=lambda row: (bool(row.values.get("parent_id")), row.began, row.id))

    def _add_files(self, found: dict[str, SessionRow]) -> None:
        for native, path in self._tree.files.items():
            if native not in found:
                try:
                    found[native] = replace(self._tree.read_head(path), fingerprint=self._tree.fingerprint(path))
                except (SourceUnreadable, OSError) as error:
                    found[native] = SessionRow(id=native, problem=str(error))
        for path in sorted(self._home.glob("project/*/storage/session/info/*.json")):
            why = f"{path} was written by an opencode older than 0.6; start a newer opencode once to convert it"
            found.setdefault(path.stem, SessionRow(id=path.stem, problem=why))

    def sessions(self) -> Iterator[SessionEntry]:
        for row in self.list_sessions():
            yield SessionEntry(native_id=row.id, fingerprint=row.fingerprint, problem=row.problem)

    def read(self, native_id: str) -> Transcript:
        gone = SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        for database in self.databases:
            try:
                found = database.query(lambda db: read_session(db, native_id))
            except SourceUnreadable as error:
                gone = error  # another database or file may have it
                continue
            if found is not None:
                return found.build()
        path = self._tree.files.get(native_id) if self._is_folder else None
        if path is None:
            raise gone
        return self._tree.read_session(path).build()


class OpencodeImporter:
    """Imports sessions of opencode."""

    name, label = NAME, "opencode"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        data = environment.get("XDG_DATA_HOME")
        found = self._inspect((Path(data) if data else user_home / ".local" / "share") / "opencode")
        return [found] if found else []

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._inspect(path) if path.suffix == ".db" else None
        return self._inspect(path.parent if path.name == "storage" else path)

    def _inspect(self, home: Path) -> FoundHistory | None:
        try:
            with self.open(home) as reader:
                known, size = reader.list_sessions(), reader.size()
        except OSError as error:
            return FoundHistory(
                source=self.name, home=home, problem=f"{home} cannot be read: {error.strerror or error}."
            )
        problems = [row.problem for row in known if row.problem]
        if not known or (home.is_file() and problems and not home.name.startswith(NAME)):
            return None
        return FoundHistory(
            source=self.name,
            home=home,
            sessions=len(known),
            bytes=size,
            version=str(max(known, key=lambda row: row.began).values.get("version") or ""),
            problem=problems[0] if len(problems) == len(known) else "",
        )

    @contextmanager
    def open(self, home: Path) -> Iterator[OpencodeReader]:
        reader = OpencodeReader(home)
        try:
            yield reader
        finally:
            reader.close()


plugin = Plugin(name=NAME, summary="Imports the history of opencode.", sources=[OpencodeImporter])
