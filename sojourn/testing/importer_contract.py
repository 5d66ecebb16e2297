"""The contract of importers: finding a history, reading it, and importing it into a store.

    class TestMine(SourceContract):
        @pytest.fixture
        def history(self, tmp_path): ...    # an ImporterHistory on a copy of a real history

        @pytest.fixture
        def store(self): ...                # an empty store, closed afterwards

        @pytest.fixture
        def import_history(self): ...               # `sojourn.importers.import_history.import_history`

Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sojourn.core.errors import SourceUnreadable
from sojourn.core.messages import Message, tool_calls_of
from sojourn.core.sessions import SessionId
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory, HistoryReader, Importer, SessionEntry, Transcript
from sojourn.ports.store import Listing, Store
from sojourn.testing.importer_damage import DAMAGES, SPECIAL_FILES, damage
from sojourn.testing.store_steps import dump

_MAX_DAMAGED_FILES = 3
_MAX_DAMAGED_SECONDS = 20.0

ImportHistory = Callable[..., Awaitable[ImportReport]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImporterHistory:
    """A history to test an importer with, and functions that change it as its program or a disk error would."""

    importer: Importer
    user_home: Path  # where `find` looks
    sessions: int
    roles: Mapping[str, int]  # how many messages of each role
    grow: Callable[[], int]  # continues one session; returns the number of new messages
    spoil: Callable[[], str]  # damages a session; returns the name that must be reported
    environment: Mapping[str, str] = field(default_factory=dict)
    named: Path | None = None  # a history that has no usual place: a person names this path

    def find(self) -> list[FoundHistory]:
        """What is found: in the usual places, or at the path that a person names."""
        if self.named is None:
            return self.importer.find(self.user_home, self.environment)
        found = self.importer.claims(self.named)
        return [found] if found else []

    def found(self) -> FoundHistory:
        """The only readable history."""
        [good] = [one for one in self.find() if not one.problem]
        return good


class _WatchedImporter:
    """Wraps an importer and records which sessions are read."""

    def __init__(self, source: Importer) -> None:
        self.name, self.label, self._source = source.name, source.label, source
        self.find, self.claims = source.find, source.claims
        self.store_home = getattr(source, "store_home", "")
        self.read_ids: list[str] = []

    @contextmanager
    def open(self, home: Path) -> Iterator[HistoryReader]:
        with self._source.open(home) as reader:
            yield _WatchedReader(reader, self.read_ids)


class _WatchedReader:
    def __init__(self, reader: HistoryReader, read_ids: list[str]) -> None:
        self._reader, self._read_ids = reader, read_ids

    def sessions(self) -> Iterator[SessionEntry]:
        return self._reader.sessions()

    def read(self, native_id: str) -> Transcript:
        self._read_ids.append(native_id)
        return self._reader.read(native_id)


def read_all(history: ImporterHistory) -> list[Transcript]:
    """Reads every session without a problem."""
    with history.importer.open(history.found().home) as reader:
        return [reader.read(one.native_id) for one in list(reader.sessions()) if not one.problem]


def _read_damaged(importer: Importer, found: FoundHistory) -> Iterator[str]:
    """Everything that is said about a history that may be damaged anywhere."""
    if found.problem:
        yield found.problem
        return
    try:
        with importer.open(found.home) as reader:
            for one in list(reader.sessions()):
                if one.problem:
                    yield one.problem
                    continue
                try:
                    read = reader.read(one.native_id)
                except SourceUnreadable as error:
                    yield str(error)
                    continue
                yield from read.warnings
                assert all(message.role and message.native_id for message in read.messages)
    except SourceUnreadable as error:
        yield str(error)


def hash_files(folder: Path) -> dict[str, str]:
    """The hash of each file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


async def load_messages(store: Store) -> dict[str, list[Message]]:
    """The imported messages of each session, by its native id."""
    found: dict[str, list[Message]] = {}
    for session in await store.find(Listing(archived=None, limit=1000)):
        native = str((await store.get(session.id)).details["source_id"])
        items = [one.item async for one in store.read(session.id)]
        found[native] = [item for item in items if isinstance(item, Message)]
    return found


class ImporterContract:
    """Tests that an importer finds and reads everything, imports it once, and never writes to the history."""

    # finding
    def test_it_is_found_where_it_usually_is(self, history: ImporterHistory) -> None:
        found = history.found()
        assert (found.source, found.sessions, found.problem) == (history.importer.name, history.sessions, "")
        assert found.bytes > 0

    def test_nothing_is_found_where_nothing_is(self, history: ImporterHistory, tmp_path: Path) -> None:
        assert history.importer.find(tmp_path / "nobody", {}) == []

    def test_its_path_is_claimed_and_no_other(self, history: ImporterHistory, tmp_path: Path) -> None:
        found = history.found()
        claimed = history.importer.claims(found.home)
        assert claimed is not None
        assert (claimed.home, claimed.sessions) == (found.home, found.sessions)
        assert history.importer.claims(tmp_path) is None
        (tmp_path / "notes.txt").write_text("not a history")
        assert history.importer.claims(tmp_path / "notes.txt") is None

    # reading
    def test_everything_is_read(self, history: ImporterHistory) -> None:
        read = read_all(history)
        assert len(read) == history.sessions
        roles = Counter(message.role for one in read for message in one.messages)
        assert {role: roles[role] for role in history.roles} == dict(history.roles)

    def test_sessions_are_listed_once_and_parents_before_children(self, history: ImporterHistory) -> None:
        read = read_all(history)
        ids = [one.native_id for one in read]
        assert len(set(ids)) == len(ids)
        for at, one in enumerate(read):
            parent = one.fields.get("parent_session_id")
            assert parent not in ids or ids.index(parent) < at

    def test_messages_have_ids_that_stay(self, history: ImporterHistory) -> None:
        once, again = read_all(history), read_all(history)
        assert once == again
        for one in once:
            ids = [message.native_id for message in one.messages]
            assert all(ids)
            assert len(set(ids)) == len(ids)

    def test_every_output_follows_its_call(self, history: ImporterHistory) -> None:
        for one in read_all(history):
            asked: dict[str, str] = {}
            for message in one.messages:
                asked |= {call.id: call.name for call in tool_calls_of(message)}
                if message.role == "tool":
                    assert message.tool_call_id in asked
                    assert message.tool_name in (asked[message.tool_call_id], None)

    def test_every_message_has_its_moment(self, history: ImporterHistory) -> None:
        assert all(message.timestamp > 0 for one in read_all(history) for message in one.messages)

    # importing
    async def test_everything_is_brought_in_as_it_was_read(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        report = await import_history(store, history.importer, history.found())
        assert (report.found, report.imported, report.skipped) == (history.sessions, history.sessions, ())
        assert await load_messages(store) == {one.native_id: list(one.messages) for one in read_all(history)}
        assert (await store.verify()).clean

    async def test_a_dry_run_tells_and_brings_nothing(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        report = await import_history(store, history.importer, history.found(), dry_run=True)
        assert (report.found, report.imported, report.dry_run) == (history.sessions, history.sessions, True)
        assert await store.is_empty()

    async def test_again_nothing_is_read_and_nothing_changes(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        await import_history(store, history.importer, history.found())
        before, watched = await dump(store), _WatchedImporter(history.importer)
        report = await import_history(store, watched, history.found())
        assert (report.imported, report.updated, report.unchanged) == (0, 0, history.sessions)
        assert watched.read_ids == []
        assert await dump(store) == before

    async def test_what_is_new_comes_and_nothing_else(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        await import_history(store, history.importer, history.found())
        before, watched = await load_messages(store), _WatchedImporter(history.importer)
        new = history.grow()
        report = await import_history(store, watched, history.found())
        assert (report.imported, report.updated, report.new_messages) == (0, 1, new)
        assert 0 < len(watched.read_ids) < history.sessions  # two may share a file
        after = await load_messages(store)
        assert after.keys() == before.keys()
        for native, messages in before.items():
            assert after[native][: len(messages)] == messages or native in watched.read_ids
        assert sum(map(len, after.values())) == sum(map(len, before.values())) + new

    async def test_nothing_is_written_to_it(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        before = hash_files(history.user_home)
        for _ in range(2):
            await import_history(store, history.importer, history.found())
        assert hash_files(history.user_home) == before

    async def test_what_is_damaged_is_named_and_the_rest_comes(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        name = history.spoil()
        found = history.find()
        reports = [await import_history(store, history.importer, one) for one in found]
        told = [why for report in reports for why in (report.problem, *map(" ".join, report.skipped))]
        assert any(name in why for why in told)
        assert sum(report.imported for report in reports) >= history.sessions - 1

    @pytest.mark.parametrize("kind", DAMAGES)
    def test_damage_is_told_in_one_line_each_and_holds_nobody_up(self, history: ImporterHistory, kind: str) -> None:
        """Each file is damaged in turn; every session is read all the same, or skipped with its reason."""
        _damage_each_file(history, kind)

    async def test_what_was_forgotten_does_not_come_back(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory
    ) -> None:
        await import_history(store, history.importer, history.found())
        native = next(one.native_id for one in reversed(read_all(history)) if one.messages)
        await store.forget(SessionId(native))
        history.grow()
        report = await import_history(store, history.importer, history.found())
        assert report.imported == 0
        assert native in [skipped for skipped, _ in report.skipped]
        assert native not in await load_messages(store)


def _damage_each_file(history: ImporterHistory, kind: str) -> None:
    paths = [path for path in sorted(history.user_home.rglob("*")) if path.is_file() and not path.is_symlink()]
    chance = random.Random(f"{history.importer.name} {kind}")
    for seed, path in enumerate(chance.sample(paths, min(len(paths), _MAX_DAMAGED_FILES))):
        content, begun = path.read_bytes(), time.monotonic()
        damage(path, kind, seed)
        told = [why for one in history.find() for why in _read_damaged(history.importer, one)]
        assert time.monotonic() - begun < _MAX_DAMAGED_SECONDS, f"{path} with {kind}"
        assert [why for why in told if not why.strip() or "\n" in why] == []
        path.rmdir() if path.is_dir() else path.unlink()
        path.write_bytes(content)
    assert history.found().sessions == history.sessions  # as before


class SpecialFilesContract:
    """For importers that open regular files alone; others are ended by the time limit of the process they run in."""

    @pytest.mark.parametrize("kind", SPECIAL_FILES)
    def test_what_is_no_file_is_told_in_one_line_each_and_holds_nobody_up(
        self, history: ImporterHistory, kind: str
    ) -> None:
        """Pipes, devices, folders and links stand where files stood."""
        _damage_each_file(history, kind)


class KilledImportContract:
    """Also needs the fixture `half`: a function that runs the import in a process that is killed half-way."""

    async def test_an_import_that_was_killed_goes_on(
        self, history: ImporterHistory, store: Store, import_history: ImportHistory, half: Callable[[], None]
    ) -> None:
        half()
        begun = await load_messages(store)
        assert 0 < len(begun) < history.sessions
        report = await import_history(store, history.importer, history.found())
        assert (report.imported, report.unchanged) == (history.sessions - len(begun), len(begun))
        assert await load_messages(store) == {one.native_id: list(one.messages) for one in read_all(history)}
        assert (await store.verify()).clean
