"""`/api/plugins/import-watch`: watches the histories of other agents beside a server, if `import.watch` says so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, Field

from sojourn.importers.retention import find_deletion
from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext, ImportReport

if TYPE_CHECKING:
    from sojourn.history_watcher import HistoryWatcher

_CONSENT_POLL_SECONDS = 1.0
_AGAIN_SECONDS = 30.0  # after a failure
_WATCHER: Lazy[type[HistoryWatcher]] = Lazy("sojourn.history_watcher:HistoryWatcher")
logger = logging.getLogger(__name__)


class WatchState(BaseModel):
    """What a server watches."""

    watching: bool = Field(description="Whether the setting `import.watch` is on.")
    homes: list[str] = Field(default=[], description="The homes of other agents that are followed.")
    imports: int = Field(default=0, description="How many imports brought something since the server began.")
    new_messages: int = 0


class DeletionBody(BaseModel):
    """Which sessions a program will delete by itself."""

    source: str
    home: str
    days: float = Field(description="After so many days the program deletes a session.")
    next_at: float = Field(
        description="When the oldest one goes, in seconds since 1970; in the past: at its next start."
    )
    soon: int = Field(description="How many go within three days.")


class _WatchTask:
    """Runs the watcher for as long as the person wants it."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self.imports = self.new_messages = 0
        self._watcher: HistoryWatcher | None = None

    @property
    def is_wanted(self) -> bool:
        return bool(self._app.settings["import.watch"])

    def describe(self) -> WatchState:
        homes = sorted(map(str, self._watcher.homes)) if self._watcher else []
        return WatchState(watching=self.is_wanted, homes=homes, imports=self.imports, new_messages=self.new_messages)

    async def run(self) -> None:
        while True:
            if self.is_wanted:
                await self._watch()
            await asyncio.sleep(_CONSENT_POLL_SECONDS)

    async def _watch(self) -> None:
        self._watcher = _WATCHER.load()(self._app, self._count)
        task = asyncio.create_task(self._watcher.run())
        try:
            while self.is_wanted and not task.done():
                await asyncio.wait([task], timeout=_CONSENT_POLL_SECONDS)
        finally:
            task.cancel()
            (failure,) = await asyncio.gather(task, return_exceptions=True)
            self._watcher = None
        if failure is not None and not isinstance(failure, asyncio.CancelledError):
            logger.error("histories are watched again in %g seconds", _AGAIN_SECONDS, exc_info=failure)
            await asyncio.sleep(_AGAIN_SECONDS)

    def _count(self, report: ImportReport) -> None:
        if report.new_messages:
            self.imports, self.new_messages = self.imports + 1, self.new_messages + report.new_messages


def router(app: AppContext) -> APIRouter:
    """The routes, and the watcher behind them."""
    watch = _WatchTask(app)

    @asynccontextmanager
    async def lifespan(_server: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(watch.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    api = APIRouter(lifespan=lifespan)

    @api.get("/state", summary="Watched histories")
    async def show_state() -> WatchState:
        """Whether histories of other agents are watched, and what came of it."""
        return watch.describe()

    @api.get("/deletions", summary="What other programs delete")
    async def list_deletions() -> list[DeletionBody]:
        """Which programs delete their sessions by themselves, and when. What was imported is kept here."""
        found = await asyncio.to_thread(app.find_histories)
        deletions = await asyncio.to_thread(lambda: [one for each in found if (one := find_deletion(each))])
        return [DeletionBody(**asdict(one)) for one in deletions]

    return api
