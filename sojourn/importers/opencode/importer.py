"""The importer for opencode: finds its data folders, databases and session files.

opencode.db                  the database; `opencode-<channel>.db` for preview versions
storage/session/…            files of versions before 1.2
project/*/storage/session/   files of versions before 0.6, which opencode itself must convert
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.opencode.database import OpencodeDatabase
from sojourn.importers.opencode.files_v0 import FileTree
from sojourn.importers.opencode.rows import NAME, SessionRow
from sojourn.importers.transcript_builder import to_seconds
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownSession:
    """A listed session."""

    fingerprint: str = ""
    began: float = 0.0
    is_child: bool = False
    version: str = ""
    problem: str = ""


def _to_known_session(row: SessionRow, mark: str) -> _KnownSession:
    values = row.values
    return _KnownSession(
        fingerprint=mark,
        began=to_seconds(values.get("time_created")),
        is_child=bool(values.get("parent_id")),
        version=str(values.get("version") or ""),
    )


class OpencodeReader:
    """Reads a data folder. A database wins over files, because opencode converts files to a database."""

    def __init__(self, home: Path) -> None:
        folder = home if home.is_dir() else home.parent
        paths = [home] if home.is_file() else sorted(folder.glob("opencode*.db"), key=lambda path: len(path.name))
        self.databases = [OpencodeDatabase(path) for path in paths]
        self._home, self._tree, self._is_folder = folder, FileTree(folder / "storage"), home.is_dir()

    def close(self) -> None:
        for database in self.databases:
            database.close()

    def size(self) -> int:
        kept = sum(database.path.stat().st_size for database in self.databases)
        return kept + (self._tree.size() if self._is_folder else 0)

    def list_known_sessions(self) -> dict[str, _KnownSession]:
        """All sessions, oldest first, and children last; an unreadable database or file is listed with its problem."""
        found: dict[str, _KnownSession] = {}
        for database in self.databases:
            try:
                rows = database.sessions()
            except SourceUnreadable as error:
                found[database.path.name] = _KnownSession(problem=str(error))
                continue
            for row, mark in rows:
                found.setdefault(row.id, _to_known_session(row, mark))
        if self._is_folder:
            self._add_files(found)
        return dict(sorted(found.items(), key=lambda item: (item[1].is_child, item[1].began, item[0])))

    def _add_files(self, found: dict[str, _KnownSession]) -> None:
        for native, path in self._tree.files.items():
            if native not in found:
                try:
                    found[native] = _to_known_session(self._tree.read_head(path), self._tree.fingerprint(path))
                except (SourceUnreadable, OSError) as error:
                    found[native] = _KnownSession(problem=str(error))
        for path in sorted(self._home.glob("project/*/storage/session/info/*.json")):
            why = f"{path} was written by an opencode older than 0.6; start a newer opencode once to convert it"
            found.setdefault(path.stem, _KnownSession(problem=why))

    def sessions(self) -> Iterator[SessionEntry]:
        for native, one in self.list_known_sessions().items():
            yield SessionEntry(native_id=native, fingerprint=one.fingerprint, problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        gone = SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        for database in self.databases:
            try:
                found = database.read_session(native_id)
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
                known, size = reader.list_known_sessions(), reader.size()
        except OSError as error:
            return FoundHistory(
                source=self.name, home=home, problem=f"{home} cannot be read: {error.strerror or error}."
            )
        problems = [one.problem for one in known.values() if one.problem]
        if not known or (home.is_file() and problems and not home.name.startswith(NAME)):
            return None
        return FoundHistory(
            source=self.name,
            home=home,
            sessions=len(known),
            bytes=size,
            version=max(known.values(), key=lambda one: one.began).version,
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
