"""Watches the histories of other agents: imports a home soon after a file in it has changed.

The system notifies of changes. A slow poll behind it finds what no notification came for (network drives, too many
folders), and now and then new programs are looked for.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from watchfiles import awatch

from sojourn.core.errors import SojournError
from sojourn.ports.app import Histories, ImportReport
from sojourn.ports.importer import FoundHistory

logger = logging.getLogger(__name__)
_DEBOUNCE_MS = 300  # changes within it are seen together
_PAUSE_SECONDS = 0.5  # between two imports of one home
_PAUSE_FACTOR = 4  # or so many times what the last one took, so that a busy program leaves us idle most of the time
_POLL_SECONDS = 60.0
_POLL_FACTOR = 400  # or so many times what a poll takes
_SEARCH_SECONDS = 600.0  # between two searches for homes
_NOISE = ("-shm", "-journal", ".lock", ".log", ".tmp", ".swp")  # written by readers too, or never read


class HistoryWatcher:
    """Follows all homes, or those that `find` returns, until it is cancelled."""

    def __init__(
        self,
        app: Histories,
        report: Callable[[ImportReport], None],
        *,
        find: Callable[[], list[FoundHistory]] | None = None,
    ) -> None:
        self._app, self._report, self._find = app, report, find or app.find_histories
        self.homes: dict[Path, FoundHistory] = {}
        self._changed: asyncio.Queue[Path] = asyncio.Queue()
        self._waiting: set[Path] = set()

    async def run(self) -> None:
        """Imports what is new now, and then what changes."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._import_changed())
            while True:
                known = set(self.homes)
                self.homes = {one.home: one for one in await asyncio.to_thread(self._find)}
                for home in self.homes.keys() - known:
                    self._note(home)
                watched = [tasks.create_task(one) for one in (self._poll(), *self._list_watches())]
                while True:
                    await asyncio.sleep(_SEARCH_SECONDS)
                    found = await asyncio.to_thread(self._find)
                    if {one.home for one in found} != self.homes.keys():
                        break
                for task in watched:
                    task.cancel()

    def _note(self, home: Path) -> None:
        if home not in self._waiting:
            self._waiting.add(home)
            self._changed.put_nowait(home)

    def _list_watches(self) -> list[Coroutine[Any, Any, None]]:
        """A watch for all folders, and one for the folders of single files, whose other files matter to nobody."""
        folders = [home for home in self.homes if home.is_dir()]
        files = {home.parent for home in self.homes if not home.is_dir() and home.parent.is_dir()}
        pairs = ((folders, True), (sorted(files), False))
        return [self._follow(paths, is_recursive=deep) for paths, deep in pairs if paths]

    async def _follow(self, paths: list[Path], *, is_recursive: bool) -> None:
        try:
            async for changes in _watch(paths, is_recursive=is_recursive):
                for home in {home for path in changes for home in self._find_homes(path)}:
                    self._note(home)
        except (OSError, RuntimeError) as error:  # the system has no watch left: the poll goes on
            logger.warning("histories are only polled: %s", error)

    def _find_homes(self, path: Path) -> Iterator[Path]:
        """The homes that a changed file belongs to."""
        if path.name.endswith(_NOISE):
            return
        for home in self.homes:
            if home in path.parents or (path.parent == home.parent and path.name.startswith(home.name)):
                yield home

    async def _poll(self) -> None:
        """Compares sizes and times of all files, slowly."""
        marks: dict[Path, int] = {}
        while True:
            begun = time.monotonic()
            for home in list(self.homes):
                mark = await asyncio.to_thread(_read_mark, home)
                if marks.setdefault(home, mark) != mark:
                    marks[home] = mark
                    self._note(home)
            await asyncio.sleep(max(_POLL_SECONDS, (time.monotonic() - begun) * _POLL_FACTOR))

    async def _import_changed(self) -> None:
        while True:
            home = await self._changed.get()
            begun = time.monotonic()
            self._waiting.discard(home)  # what changes from here on counts anew
            if found := self.homes.get(home):
                await self._import(found)
            took = time.monotonic() - begun
            await asyncio.sleep(max(_PAUSE_SECONDS, took * _PAUSE_FACTOR) if self._changed.qsize() else _PAUSE_SECONDS)

    async def _import(self, found: FoundHistory) -> None:
        try:
            report = await self._app.import_history(found)
        except SojournError as error:
            logger.warning("%s at %s cannot be imported: %s", found.source, found.home, error)
            return
        self._report(report)


async def _watch(paths: list[Path], *, is_recursive: bool) -> AsyncIterator[list[Path]]:
    watching = awatch(
        *paths, watch_filter=None, debounce=_DEBOUNCE_MS, recursive=is_recursive, ignore_permission_denied=True
    )
    async for changes in watching:
        yield [Path(path) for _, path in changes]


def _read_mark(home: Path) -> int:
    """A number that changes with any file of a home."""
    return hash(frozenset(_list_marks(home)))


def _list_marks(home: Path) -> Iterator[tuple[Path, int, int]]:
    for path in _list_files(home):
        if not path.name.endswith(_NOISE):
            with suppress(OSError):
                stat = path.stat()
                yield path, stat.st_size, stat.st_mtime_ns


def _list_files(home: Path) -> Iterator[Path]:
    if not home.is_dir():
        yield from (home, home.with_name(home.name + "-wal"))
    for folder, _, names in os.walk(home):
        yield from (Path(folder) / name for name in names)
