"""Import of a history from a page: one at a time, with its progress."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict

from pydantic import BaseModel

from sojourn.core.errors import Conflict, NotFound, SojournError
from sojourn.ports.app import Histories
from sojourn.ports.importer import FoundHistory

logger = logging.getLogger(__name__)


class ImportState(BaseModel):
    """The import that runs, or the last one."""

    running: bool = False
    source: str = ""
    home: str = ""
    done: int = 0
    of: int = 0
    error: str = ""
    hint: str = ""
    report: dict[str, object] | None = None


class ImportJobs:
    """The imports of this server."""

    def __init__(self, app: Histories) -> None:
        self._app, self.state = app, ImportState()
        self._task: asyncio.Task[None] | None = None

    async def begin(self, source: str, home: str) -> ImportState:
        """Starts an import. Only a history that was found can be named, so no page makes us read elsewhere.

        NotFound, Conflict.
        """
        if self.state.running:
            raise Conflict(f"An import of {self.state.source} runs already.", hint="Wait until it is done.")
        self.state = ImportState(running=True, source=source, home=home)
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

    async def _bring(self, found: FoundHistory) -> None:
        state = self.state

        def on_progress(what: str, done: int, of: int) -> None:
            state.done, state.of = done, of

        try:
            report = asdict(await self._app.import_history(found, progress=on_progress))
            state.report = {**report, "skipped": [list(one) for one in report["skipped"]]}
            state.error = str(report["problem"])
        except SojournError as error:
            state.error, state.hint = str(error), error.hint
        except Exception as error:
            logger.exception("the import of %s failed", found.source)
            state.error = f"{type(error).__name__}: {error}"
        finally:
            state.running = False
