"""Import of a history from a page: one at a time, with its progress."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from dataclasses import asdict
from pathlib import Path

from pydantic import BaseModel, Field

from sojourn.core.errors import BadInput, Conflict, Interrupted, NotFound, SojournError
from sojourn.ports.app import Histories
from sojourn.ports.importer import FoundHistory

logger = logging.getLogger(__name__)


class ImportState(BaseModel):
    """The import that runs, or the last one."""

    running: bool = False
    source: str = ""
    home: str = ""
    stage: str = Field(default="", description="What it does now: reading, importing sessions or making searchable.")
    done: int = 0
    of: int = 0
    seconds_left: float | None = Field(default=None, description="How long this stage may still take; null: unknown.")
    cancelled: bool = Field(default=False, description="It was cancelled; what is there already stays.")
    error: str = ""
    hint: str = ""
    report: dict[str, object] | None = None


class ImportJobs:
    """The imports of this server."""

    def __init__(self, app: Histories) -> None:
        self._app, self.state = app, ImportState()
        self._task: asyncio.Task[None] | None = None
        self._is_cancelled = False

    async def begin(self, source: str, home: str) -> ImportState:
        """Starts an import. Only a history that was found can be named, so no page makes us read elsewhere.

        NotFound, Conflict.
        """
        self._require_idle()
        self.state, self._is_cancelled = ImportState(running=True, source=source, home=home, stage="reading"), False
        try:
            found = await asyncio.to_thread(self._app.find_histories)
        except SojournError:
            self.state = ImportState()
            raise
        wanted = next((one for one in found if one.source == source and str(one.home) == home), None)
        if wanted is None:
            self.state = ImportState()
            raise NotFound(f"There is no history of {source} at {home}.", hint="Search for histories again.")
        self._task = asyncio.create_task(self._bring(wanted))
        return self.state

    async def begin_file(self, folder: Path, name: str, content: bytes) -> ImportState:
        """Starts an import of a file that the page sent, such as an export. It is deleted afterwards.

        BadInput, Conflict, SourceUnreadable.
        """
        self._require_idle()
        plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)[-100:].lstrip(".")
        if not plain or not content:
            raise BadInput("There is no file, or it is empty.", hint="Choose the file that the other program exported.")
        self.state, self._is_cancelled = ImportState(running=True, home=plain, stage="reading"), False
        path = folder / plain  # the same name again is the same history
        try:
            await asyncio.to_thread(_write_private, path, content)
            found = await asyncio.to_thread(self._app.find_histories, path)
        except BaseException:
            self.state = ImportState()
            path.unlink(missing_ok=True)
            raise
        self.state.source = found[0].source
        self._task = asyncio.create_task(self._bring_file(found[0], path))
        return self.state

    async def _bring_file(self, found: FoundHistory, path: Path) -> None:
        try:
            await self._bring(found)
        finally:
            path.unlink(missing_ok=True)

    def _require_idle(self) -> None:
        if self.state.running:
            raise Conflict(f"An import of {self.state.source} runs already.", hint="Wait until it is done.")

    def cancel(self) -> ImportState:
        """Ends the import after the sessions that are being written; the next one goes on from there."""
        self._is_cancelled = self.state.running
        return self.state

    async def _bring(self, found: FoundHistory) -> None:
        state, begun = self.state, time.monotonic()

        def on_progress(what: str, done: int, of: int) -> None:
            nonlocal begun
            if self._is_cancelled:
                raise Interrupted("The import was cancelled.", hint="Import again to go on from here.")
            if what != state.stage:
                state.stage, begun = what, time.monotonic() if state.stage != "reading" else begun
            state.done, state.of = done, of
            state.seconds_left = round((time.monotonic() - begun) * (of - done) / done, 1) if done else None

        try:
            report = asdict(await self._app.import_history(found, progress=on_progress))
            state.report = {**report, "skipped": [list(one) for one in report["skipped"]]}
            state.error = str(report["problem"])
        except Interrupted as error:
            state.cancelled, state.hint = True, error.hint
        except SojournError as error:
            state.error, state.hint = str(error), error.hint
        except Exception as error:
            logger.exception("the import of %s failed", found.source)
            state.error = f"{type(error).__name__}: {error}"
        finally:
            state.running, state.seconds_left = False, None


def _write_private(path: Path, content: bytes) -> None:
    """Writes a new file that only its owner can read; a link in its place is not followed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
