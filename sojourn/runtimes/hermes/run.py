"""One run under way in Hermes: its events to a sure end, whatever the line does, and the way to stop it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from sojourn.core.errors import RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.messages import Json
from sojourn.runtimes.hermes.api import HermesApi, HermesNotFound, StreamLost
from sojourn.runtimes.hermes.settings import HermesSettings

logger = logging.getLogger(__name__)

Event = Mapping[str, Json]
ENDS = frozenset({"run.completed", "run.failed", "run.cancelled"})
_OVER = frozenset({"completed", "failed", "cancelled"})
_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0)  # between two questions for the state of a run; the last one is repeated
_UNTIL_STOPPED = 8.0


class HermesRun:
    """`events` ends with exactly one event of ENDS, or raises; `over` says that Hermes is through with it."""

    def __init__(self, api: HermesApi, run_id: str, settings: HermesSettings) -> None:
        self.id = run_id
        self.over = False
        self.lost = ""  # why the stream broke off, if it did
        self._api, self._settings = api, settings
        self._until = time.monotonic() + settings.most_seconds

    async def events(self) -> AsyncGenerator[Event, None]:
        """From the stream while it holds, then by asking for the run's state."""
        queue: asyncio.Queue[Event | StreamLost | None] = asyncio.Queue()
        reader = asyncio.create_task(self._read_into(queue))
        try:
            while isinstance(item := await self._next(queue), Mapping):
                self.over = item.get("event") in ENDS
                yield item
                if self.over:
                    return
        finally:
            reader.cancel()
            await asyncio.wait({reader})
        self.lost = str(item) if item is not None else "the stream ended early"
        logger.warning("the events of run %s broke off (%s); asking for its state instead", self.id, self.lost)
        async with aclosing(self._asked()) as asked:
            async for event in asked:
                yield event

    async def _read_into(self, queue: asyncio.Queue[Event | StreamLost | None]) -> None:
        end: StreamLost | None = None
        try:
            async with aclosing(self._api.events(self.id)) as events:
                async for event in events:
                    queue.put_nowait(event)
        except StreamLost as lost:
            end = lost
        finally:
            queue.put_nowait(end)

    async def _next(self, queue: asyncio.Queue[Event | StreamLost | None]) -> Event | StreamLost | None:
        try:
            async with asyncio.timeout(self._left()):
                return await queue.get()
        except TimeoutError as error:
            raise self._too_long() from error

    async def _asked(self) -> AsyncGenerator[Event, None]:
        """Asks until the run is over. What it still shows is only that it runs, and its end."""
        heard, patience = time.monotonic(), self._settings.patience_seconds
        for turn in itertools.count():
            try:
                status = await self._api.status(self.id, seconds=min(10.0, max(patience, 1.0)))
                heard = time.monotonic()
            except HermesNotFound as error:
                self.over = True
                raise RuntimeFailed(
                    "Hermes no longer knows the run: it was restarted while it worked.",
                    hint="Ask again; what it did before it stopped may already be done.",
                ) from error
            except (RuntimeUnreachable, RuntimeTimeout):
                if time.monotonic() - heard > patience:
                    raise
            else:
                if status.get("status") in _OVER:
                    self.over = True
                    yield {**status, "event": f"run.{status['status']}"}
                    return
                yield {"event": "run.status", "status": str(status.get("status") or ""), "lost": self.lost}
            if self._left() <= 0:
                raise self._too_long()
            await asyncio.sleep(min(_WAITS[min(turn, len(_WAITS) - 1)], max(self._left(), 0.0)))

    def _left(self) -> float:
        return self._until - time.monotonic()

    def _too_long(self) -> RuntimeTimeout:
        return RuntimeTimeout(
            f"Hermes was not done after {self._settings.most_seconds:g} seconds.",
            hint="Ask for less at once, or raise `most_seconds` under [plugins.hermes-runtime].",
        )

    async def stop(self) -> None:
        """Asks Hermes to stop and waits, for a few seconds, until it has."""
        if self.over:
            return
        try:
            async with asyncio.timeout(_UNTIL_STOPPED):
                await self._api.stop(self.id)
                await self._until_over()
        except HermesNotFound:
            pass  # it ended by itself
        except (RuntimeFailed, TimeoutError) as error:
            logger.warning("run %s could not be stopped for sure: %s", self.id, error)
        self.over = True

    async def _until_over(self) -> None:
        while True:
            if (await self._api.status(self.id)).get("status") in _OVER:
                return
            await asyncio.sleep(0.1)
