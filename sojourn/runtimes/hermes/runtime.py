"""The runtime `hermes`: each turn is a run in a Hermes server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Literal

from sojourn.core.errors import SojournError
from sojourn.core.events import Done, Progress
from sojourn.ports.app import PluginAccess
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, SaveState, TurnInput
from sojourn.runtimes.hermes import PLUGIN, HermesSettings
from sojourn.runtimes.hermes.api import HermesApi, HermesBusy
from sojourn.runtimes.hermes.approvals import HermesApprovals
from sojourn.runtimes.hermes.events import EventMapper
from sojourn.runtimes.hermes.run import HermesRun, build_run_request, to_memory_scope
from sojourn.runtimes.prompt_text import require_guest_access

logger = logging.getLogger(__name__)

_BACKOFF_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)  # between attempts to start a run
_STOP_WAIT_SECONDS = 0.8
_READY_SECONDS = 1.9


class HermesRuntimeAdapter:
    """Runs turns in one Hermes, any number at once; Hermes limits them."""

    name = "hermes"
    label = "Hermes"
    takes_tool_history = False
    brings_tools: Literal[True] = True

    def __init__(self, settings: HermesSettings) -> None:
        self._settings = settings
        self._api = HermesApi(settings)
        self._background: set[asyncio.Task[None]] = set()
        self._stopping: dict[str, asyncio.Task[None]] = {}

    async def ready(self) -> RuntimeStatus:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                server = await self._api.get_server()
        except TimeoutError:
            return RuntimeStatus(
                ok=False, detail=f"{self._api.url} does not answer in time", hint="It may be busy or stuck."
            )
        except SojournError as error:
            return RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        models = (server.model,) if server.model else ()
        return RuntimeStatus(ok=True, detail=f"Hermes {server.version} on {self._api.url}", models=models)

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        require_guest_access(turn, guests=self._settings.guests, agent="Hermes", plugin=PLUGIN)
        yield Progress("prepare", {"runtime": self.name, "url": self._api.url})
        server = await self._api.get_server()
        body = await build_run_request(turn)
        run: HermesRun | None = None
        for wait in (*_BACKOFF_SECONDS, None):
            try:
                run = await self._submit(body, turn)
                break
            except HermesBusy as busy:
                if wait is None:
                    raise busy.error from busy
                yield Progress("queued", {"runtime": self.name, "because": str(busy)})
                await asyncio.sleep(max(wait, busy.retry_after_seconds))
        assert run is not None
        approvals = HermesApprovals(self._api, run.id, turn, self._settings.approval_seconds)
        mapper = EventMapper(run, approvals)
        try:
            yield SaveState({"session_id": body["session_id"], "last_run_id": run.id, "version": server.version})
            yield Progress("running", {"runtime": self.name, "run_id": run.id, "version": server.version})
            async with aclosing(run.events()) as events:
                async for event in events:
                    for item in mapper.map_event(event):
                        yield item
        except (asyncio.CancelledError, SojournError) as early:
            self._stop(run)
            for item in mapper.collect_outcome("cancelled" if isinstance(early, asyncio.CancelledError) else "error"):
                yield item
            raise
        finally:
            await approvals.close()
            await self._end(run)
        for item in mapper.collect_outcome(mapper.finish_reason):
            yield item
        yield Done(status=mapper.status, usage=mapper.usage)

    async def _submit(self, body: dict[str, object], turn: TurnInput) -> HermesRun:
        """Starts a run. If the turn is cancelled before the id arrives, the run is stopped in the background."""
        submitted = asyncio.create_task(self._api.submit(body, scope=to_memory_scope(turn.workspace.principal)))
        try:
            return HermesRun(self._api, await asyncio.shield(submitted), self._settings)
        except asyncio.CancelledError:
            self._in_background(self._stop_unseen(submitted))
            raise

    async def _stop_unseen(self, submitted: asyncio.Task[str]) -> None:
        await asyncio.wait({submitted})
        if submitted.exception() is None:
            await HermesRun(self._api, submitted.result(), self._settings).stop()

    def _stop(self, run: HermesRun) -> None:
        """Stops a run in the background, also while the turn itself is being cancelled."""
        if not run.is_over and run.id not in self._stopping:
            self._stopping[run.id] = self._in_background(run.stop())

    async def _end(self, run: HermesRun) -> None:
        """Waits briefly for Hermes to stop; a longer stop continues in the background, and `close` waits for it."""
        self._stop(run)
        if task := self._stopping.pop(run.id, None):
            await asyncio.wait({task}, timeout=_STOP_WAIT_SECONDS)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def close(self) -> None:
        if self._background:
            await asyncio.wait(set(self._background), timeout=10)
        await self._api.close()


def make(app: PluginAccess) -> HermesRuntimeAdapter:
    """Builds the runtime from [plugins.hermes-runtime]."""
    return HermesRuntimeAdapter(app.configured(PLUGIN))
