"""opencode as a history: where it is found, and what holds which session.

opencode.db                  the database; `opencode-<channel>.db` are those of previews
storage/session/…            the tree of files from before 1.2
project/*/storage/session/   the one before that, which opencode itself has to convert
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.opencode.database import Database
from sojourn.importers.opencode.files_v0 import Tree
from sojourn.importers.opencode.rows import NAME, SessionRow
from sojourn.importers.transcript_builder import seconds
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A session, before it is read."""

    fingerprint: str = ""
    began: float = 0.0
    is_child: bool = False
    version: str = ""
    problem: str = ""


def _known(row: SessionRow, mark: str) -> _Known:
    values = row.values
    return _Known(
        fingerprint=mark,
        began=seconds(values.get("time_created")),
        is_child=bool(values.get("parent_id")),
        version=str(values.get("version") or ""),
    )


class OpencodeReader:
    """A data folder. Databases are asked first: a session that is also in the tree was taken over from there."""

    def __init__(self, home: Path) -> None:
        folder = home if home.is_dir() else home.parent
        paths = [home] if home.is_file() else sorted(folder.glob("opencode*.db"), key=lambda path: len(path.name))
        self.databases = [Database(path) for path in paths]
        self._home, self._tree, self._is_folder = folder, Tree(folder / "storage"), home.is_dir()

    def close(self) -> None:
        for database in self.databases:
            database.close()

    def size(self) -> int:
        kept = sum(database.path.stat().st_size for database in self.databases)
        return kept + (self._tree.size() if self._is_folder else 0)

    def known(self) -> dict[str, _Known]:
        """Every session, oldest first, children after all others. What cannot be read is among them, by its name."""
        found: dict[str, _Known] = {}
        for database in self.databases:
            try:
                rows = database.sessions()
            except SourceUnreadable as error:
                found[database.path.name] = _Known(problem=str(error))
                continue
            for row, mark in rows:
                found.setdefault(row.id, _known(row, mark))
        if self._is_folder:
            self._add_files(found)
        return dict(sorted(found.items(), key=lambda item: (item[1].is_child, item[1].began, item[0])))

    def _add_files(self, found: dict[str, _Known]) -> None:
        for native, path in self._tree.files.items():
            if native not in found:
                try:
                    found[native] = _known(self._tree.head(path), self._tree.fingerprint(path))
                except (SourceUnreadable, OSError) as error:
                    found[native] = _Known(problem=str(error))
        for path in sorted(self._home.glob("project/*/storage/session/info/*.json")):
            why = f"{path} is of an opencode older than 0.6; start opencode once and it converts it"
            found.setdefault(path.stem, _Known(problem=why))

    def sessions(self) -> Iterator[SessionEntry]:
        for native, one in self.known().items():
            yield SessionEntry(native_id=native, fingerprint=one.fingerprint, problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        gone = SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        for database in self.databases:
            try:
                found = database.gather(native_id)
            except SourceUnreadable as error:
                gone = error  # it may still be in another place
                continue
            if found is not None:
                return found.transcript()
        path = self._tree.files.get(native_id) if self._is_folder else None
        if path is None:
            raise gone
        return self._tree.gather(path).transcript()


class Opencode:
    """The source."""

    name, label = NAME, "opencode"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        data = environment.get("XDG_DATA_HOME")
        found = self._look((Path(data) if data else user_home / ".local" / "share") / "opencode")
        return [found] if found else []

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._look(path) if path.suffix == ".db" else None
        return self._look(path.parent if path.name == "storage" else path)

    def _look(self, home: Path) -> FoundHistory | None:
        try:
            with self.open(home) as reader:
                known, size = reader.known(), reader.size()
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


plugin = Plugin(name=NAME, summary="Brings in the history of opencode.", sources=[Opencode])
