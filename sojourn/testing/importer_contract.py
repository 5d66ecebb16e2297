"""The contract every foreign history keeps, from being found to being brought in.

    class TestMine(SourceContract):
        @pytest.fixture
        def history(self, tmp_path): ...    # a History: a copy of a real one that the test may change

        @pytest.fixture
        def store(self): ...                # an empty store, closed afterwards

        @pytest.fixture
        def rescue(self): ...               # the service's own `rescue`

Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sojourn.core.messages import Message, tool_calls_of
from sojourn.core.sessions import SessionId
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory, HistoryReader, Importer, SessionEntry, Transcript
from sojourn.ports.store import Listing, Store
from sojourn.testing.store_steps import dump

Rescue = Callable[..., Awaitable[ImportReport]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleHistory:
    """A history to try a source on. Growing and spoiling are done as its program, or a bad day, would."""

    source: Importer
    user_home: Path  # where `find` looks
    sessions: int
    roles: Mapping[str, int]  # how many messages of each role
    grow: Callable[[], int]  # goes on with one session; says by how many messages
    spoil: Callable[[], str]  # damages something of it; says by which name that has to be told
    environment: Mapping[str, str] = field(default_factory=dict)

    def found(self) -> FoundHistory:
        """The one history that can be read."""
        [good] = [one for one in self.source.find(self.user_home, self.environment) if not one.problem]
        return good


class _Watched:
    """A source that remembers which sessions were read."""

    def __init__(self, source: Importer) -> None:
        self.name, self.label, self._source = source.name, source.label, source
        self.find, self.claims = source.find, source.claims
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


def every(history: SampleHistory) -> list[Transcript]:
    """Every session that can be read."""
    with history.source.open(history.found().home) as reader:
        return [reader.read(one.native_id) for one in list(reader.sessions()) if not one.problem]


def trace(folder: Path) -> dict[str, str]:
    """What a folder holds, byte for byte."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


async def read_imported(store: Store) -> dict[str, list[Message]]:
    """What was brought in: the messages of each session, by its id where it came from."""
    found: dict[str, list[Message]] = {}
    for session in await store.find(Listing(archived=None, limit=1000)):
        native = str((await store.get(session.id)).details["source_id"])
        items = [one.item async for one in store.read(session.id)]
        found[native] = [item for item in items if isinstance(item, Message)]
    return found


class ImporterContract:
    """Found, read 1:1, brought in once, never written to."""

    # being found
    def test_it_is_found_where_it_usually_is(self, history: SampleHistory) -> None:
        found = history.found()
        assert (found.source, found.sessions, found.problem) == (history.source.name, history.sessions, "")
        assert found.bytes > 0

    def test_nothing_is_found_where_nothing_is(self, history: SampleHistory, tmp_path: Path) -> None:
        assert history.source.find(tmp_path / "nobody", {}) == []

    def test_its_path_is_claimed_and_no_other(self, history: SampleHistory, tmp_path: Path) -> None:
        found = history.found()
        claimed = history.source.claims(found.home)
        assert claimed is not None
        assert (claimed.home, claimed.sessions) == (found.home, found.sessions)
        assert history.source.claims(tmp_path) is None
        (tmp_path / "notes.txt").write_text("not a history")
        assert history.source.claims(tmp_path / "notes.txt") is None

    # being read
    def test_everything_is_read(self, history: SampleHistory) -> None:
        read = every(history)
        assert len(read) == history.sessions
        roles = Counter(message.role for one in read for message in one.messages)
        assert {role: roles[role] for role in history.roles} == dict(history.roles)

    def test_sessions_are_listed_once_and_parents_before_children(self, history: SampleHistory) -> None:
        read = every(history)
        ids = [one.native_id for one in read]
        assert len(set(ids)) == len(ids)
        for at, one in enumerate(read):
            parent = one.fields.get("parent_session_id")
            assert parent not in ids or ids.index(parent) < at

    def test_messages_have_ids_that_stay(self, history: SampleHistory) -> None:
        once, again = every(history), every(history)
        assert once == again
        for one in once:
            ids = [message.native_id for message in one.messages]
            assert all(ids)
            assert len(set(ids)) == len(ids)

    def test_every_output_follows_its_call(self, history: SampleHistory) -> None:
        for one in every(history):
            asked: dict[str, str] = {}
            for message in one.messages:
                asked |= {call.id: call.name for call in tool_calls_of(message)}
                if message.role == "tool":
                    assert message.tool_call_id in asked
                    assert message.tool_name in (asked[message.tool_call_id], None)

    def test_every_message_has_its_moment(self, history: SampleHistory) -> None:
        assert all(message.timestamp > 0 for one in every(history) for message in one.messages)

    # being brought in
    async def test_everything_is_brought_in_as_it_was_read(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        report = await rescue(store, history.source, history.found())
        assert (report.found, report.imported, report.skipped) == (history.sessions, history.sessions, ())
        assert await read_imported(store) == {one.native_id: list(one.messages) for one in every(history)}
        assert (await store.verify()).clean

    async def test_a_dry_run_tells_and_brings_nothing(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        report = await rescue(store, history.source, history.found(), dry_run=True)
        assert (report.found, report.imported, report.dry_run) == (history.sessions, history.sessions, True)
        assert await store.is_empty()

    async def test_again_nothing_is_read_and_nothing_changes(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        await rescue(store, history.source, history.found())
        before, watched = await dump(store), _Watched(history.source)
        report = await rescue(store, watched, history.found())
        assert (report.imported, report.updated, report.unchanged) == (0, 0, history.sessions)
        assert watched.read_ids == []
        assert await dump(store) == before

    async def test_what_is_new_comes_and_nothing_else(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        await rescue(store, history.source, history.found())
        before, watched = await read_imported(store), _Watched(history.source)
        new = history.grow()
        report = await rescue(store, watched, history.found())
        assert (report.imported, report.updated, report.new_messages) == (0, 1, new)
        assert 0 < len(watched.read_ids) < history.sessions  # two may share a file
        after = await read_imported(store)
        assert after.keys() == before.keys()
        for native, messages in before.items():
            assert after[native][: len(messages)] == messages or native in watched.read_ids
        assert sum(map(len, after.values())) == sum(map(len, before.values())) + new

    async def test_nothing_is_written_to_it(self, history: SampleHistory, store: Store, rescue: Rescue) -> None:
        before = trace(history.user_home)
        for _ in range(2):
            await rescue(store, history.source, history.found())
        assert trace(history.user_home) == before

    async def test_what_is_damaged_is_named_and_the_rest_comes(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        name = history.spoil()
        found = history.source.find(history.user_home, history.environment)
        reports = [await rescue(store, history.source, one) for one in found]
        told = [why for report in reports for why in (report.problem, *map(" ".join, report.skipped))]
        assert any(name in why for why in told)
        assert sum(report.imported for report in reports) >= history.sessions - 1

    async def test_what_was_forgotten_does_not_come_back(
        self, history: SampleHistory, store: Store, rescue: Rescue
    ) -> None:
        await rescue(store, history.source, history.found())
        native = next(one.native_id for one in reversed(every(history)) if one.messages)
        await store.forget(SessionId(native))
        history.grow()
        report = await rescue(store, history.source, history.found())
        assert report.imported == 0
        assert native in [skipped for skipped, _ in report.skipped]
        assert native not in await read_imported(store)


class ImporterKillContract:
    """Needs `half` besides: a function that runs the same import in a process which is killed half-way."""

    async def test_an_import_that_was_killed_goes_on(
        self, history: SampleHistory, store: Store, rescue: Rescue, half: Callable[[], None]
    ) -> None:
        half()
        begun = await read_imported(store)
        assert 0 < len(begun) < history.sessions
        report = await rescue(store, history.source, history.found())
        assert (report.imported, report.unchanged) == (history.sessions - len(begun), len(begun))
        assert await read_imported(store) == {one.native_id: list(one.messages) for one in every(history)}
        assert (await store.verify()).clean
