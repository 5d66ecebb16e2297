"""import_history: the next sessions are read while those before them are stored."""

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from sojourn.core.errors import StoreUnavailable
from sojourn.core.messages import user
from sojourn.importers import import_history as module
from sojourn.importers.import_history import import_history
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.stores.sqlite.store import SqliteStore

SECONDS = 20


class TwoSessions:
    """A history whose second session is read only when `may_read` is set."""

    name = "two"

    def __init__(self):
        self.reads_second, self.may_read = threading.Event(), threading.Event()
        self.is_reading = self.was_closed_in_use = False

    @contextmanager
    def open(self, home):
        try:
            yield self
        finally:
            self.was_closed_in_use = self.is_reading

    def sessions(self):
        yield from (SessionEntry(native_id=name, fingerprint=name) for name in ("one", "two"))

    def read(self, native_id):
        if native_id == "two":
            self.is_reading = True
            self.reads_second.set()
            assert self.may_read.wait(SECONDS)
            self.is_reading = False
        message = replace(user("Where is the ferry?"), native_id=f"{native_id}:1")
        return Transcript(native_id=native_id, fields={"started_at": 1.0}, messages=[message])


@pytest.fixture
def source(monkeypatch):
    monkeypatch.setattr(module, "_BATCH_BYTES", 1)
    return TwoSessions()


@pytest.fixture
async def store(tmp_path):
    opened = SqliteStore(tmp_path / "state.db")
    yield opened
    await opened.close()


def found_in(home):
    return FoundHistory(source="two", home=home)


async def test_the_next_session_is_read_while_one_is_stored(store, source, tmp_path, monkeypatch):
    ingest = store.ingest

    async def ingest_slowly(*args, **kwargs):
        while not source.reads_second.is_set():
            await asyncio.sleep(0.01)
        source.may_read.set()
        return await ingest(*args, **kwargs)

    monkeypatch.setattr(store, "ingest", ingest_slowly)
    async with asyncio.timeout(SECONDS):
        report = await import_history(store, source, found_in(tmp_path))
    assert (report.imported, report.problem) == (2, "")


async def test_a_failing_store_waits_for_the_reader_before_the_history_is_closed(store, source, tmp_path, monkeypatch):
    async def fail(*args, **kwargs):
        while not source.reads_second.is_set():
            await asyncio.sleep(0.01)
        asyncio.get_running_loop().call_later(0.2, source.may_read.set)
        raise StoreUnavailable("away")

    monkeypatch.setattr(store, "ingest", fail)
    with pytest.raises(StoreUnavailable):
        await import_history(store, source, found_in(tmp_path))
    assert not source.was_closed_in_use
