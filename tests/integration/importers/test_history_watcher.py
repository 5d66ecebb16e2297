"""Histories that are watched: what other agents write is here soon, by notification or by the poll behind it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import history_watcher
from sojourn.app import App, build
from sojourn.history_watcher import HistoryWatcher
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory
from sojourn.testing.importer_contract import ImporterHistory
from tests.contracts.written_agents import zed
from tests.contracts.written_homes import qwen

LATE_SECONDS = 30.0  # of a busy machine; the measurement of it is in bench/


@pytest.fixture
async def app(home: Path) -> AsyncIterator[App]:
    app = build({})
    app.settings = replace(app.settings, user_home=home.parent)
    app.make_home()
    yield app
    await app.close()


async def wait_for(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + LATE_SECONDS
    while not is_true():
        assert time.monotonic() < until, "it came too late"
        await asyncio.sleep(0.02)


async def follow(app: App, history: ImporterHistory) -> None:
    """What is there comes in at once, what is written then comes by itself, and nothing comes without a reason."""
    reports: list[ImportReport] = []

    def find() -> list[FoundHistory]:
        return history.find()

    task = asyncio.create_task(HistoryWatcher(app, reports.append, find=find).run())
    try:
        await wait_for(lambda: bool(reports))
        assert (reports[0].imported, reports[0].problem) == (3, "")
        await asyncio.sleep(0.5)
        new = history.grow()
        await wait_for(lambda: sum(one.new_messages for one in reports[1:]) == new)
        quiet = len(reports)
        await asyncio.sleep(1.5)
        assert len(reports) - quiet <= 1  # what our own reading changed would go on for ever
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("make", [qwen, zed])
async def test_what_is_written_is_imported_soon(make: Callable[[Path], ImporterHistory], app: App, home: Path) -> None:
    await follow(app, make(home.parent))


async def test_without_notifications_the_poll_finds_it(app: App, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "no watch is left")

    monkeypatch.setattr(history_watcher, "awatch", refuse)
    monkeypatch.setattr(history_watcher, "_POLL_SECONDS", 0.2)
    monkeypatch.setattr(history_watcher, "_POLL_FACTOR", 1)
    await follow(app, qwen(home.parent))
