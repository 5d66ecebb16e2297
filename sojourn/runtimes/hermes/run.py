"""A run in Hermes: builds its request, streams its events, polls its status when the stream breaks, and stops it."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from sojourn.core.errors import ContextFull, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.messages import Json
from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.hermes import HermesSettings
from sojourn.runtimes.hermes.api import MAX_REQUEST_BYTES, HermesApi, HermesNotFound, StreamLost
from sojourn.runtimes.prompt_text import render_context, render_request, to_text_messages

logger = logging.getLogger(__name__)

Event = Mapping[str, Json]
END_EVENTS = frozenset({"run.completed", "run.failed", "run.cancelled"})
_END_STATES = frozenset({"completed", "failed", "cancelled"})
_POLL_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0)  # between status requests; the last one repeats
_STOP_SECONDS = 8.0
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def to_session_name(session: SessionId) -> str:
    """Returns the name of our session in Hermes: stable, and safe as a file name."""
    safe = _UNSAFE.sub("-", session)[:200]
    mark = "" if safe == session else f"-{hashlib.sha256(session.encode()).hexdigest()[:8]}"
    return f"sojourn_{safe}{mark}"


def to_memory_scope(principal: Principal) -> str:
    """Returns the scope of Hermes' long-term memory: one per principal."""
    return f"sojourn:{_UNSAFE.sub('-', principal)[:200]}"


async def build_run_request(turn: TurnInput) -> dict[str, Json]:
    """Returns the body of POST /v1/runs, with the whole history: Hermes loads none for a session id."""
    history = to_text_messages(past.message for past in turn.history)
    body: dict[str, Json] = {
        "input": await render_request(turn) or "(nothing was said)",
        "session_id": to_session_name(turn.session.id),
        "conversation_history": [{"role": one.role, "content": one.content} for one in history],
    }
    if instructions := render_context(turn.blocks, turn.examples, turn.graph):
        body["instructions"] = instructions
    if turn.model:
        body["model"] = turn.model
    size = len(json.dumps(body))
    if size > MAX_REQUEST_BYTES:
        raise ContextFull(
            f"The conversation has {size // 1_000_000} MB as text, more than Hermes accepts at once.",
            hint="Begin a new session, or attach less.",
        )
    return body


class HermesRun:
    """`events` ends with exactly one of END_EVENTS, or raises. `is_over`: Hermes has finished the run."""

    def __init__(self, api: HermesApi, run_id: str, settings: HermesSettings) -> None:
        self.id = run_id
        self.is_over = False
        self.lost = ""  # the reason, if the stream broke
        self._api, self._settings = api, settings
        self._until = time.monotonic() + settings.most_seconds

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yields events from the stream; polls the run's status after the stream breaks."""
        try:
            async with aclosing(self._api.events(self.id)) as stream:
                while (event := await self._next_event(stream)) is not None:
                    self.is_over = event.get("event") in END_EVENTS
                    yield event
                    if self.is_over:
                        return
            self.lost = "the stream ended early"
        except StreamLost as error:
            self.lost = str(error)
        logger.warning("the event stream of run %s broke (%s); polling its status instead", self.id, self.lost)
        async with aclosing(self._poll()) as polled:
            async for event in polled:
                yield event

    async def _next_event(self, stream: AsyncGenerator[Event, None]) -> Event | None:
        try:
            async with asyncio.timeout(self._seconds_left()):
                return await anext(stream, None)
        except TimeoutError as error:
            raise self._to_timeout() from error

    async def _poll(self) -> AsyncGenerator[Event, None]:
        """Polls until the run is over; yields its status, then its end."""
        last_answer, patience = time.monotonic(), self._settings.patience_seconds
        for attempt in itertools.count():
            try:
                status = await self._api.status(self.id, seconds=min(10.0, max(patience, 1.0)))
                last_answer = time.monotonic()
            except HermesNotFound as error:
                self.is_over = True
                raise RuntimeFailed(
                    "Hermes no longer knows the run: it was restarted in the meantime.",
                    hint="Ask again; some of the work may already be done.",
                ) from error
            except (RuntimeUnreachable, RuntimeTimeout):
                if time.monotonic() - last_answer > patience:
                    raise
            else:
                if status.get("status") in _END_STATES:
                    self.is_over = True
                    yield {**status, "event": f"run.{status['status']}"}
                    return
                yield {"event": "run.status", "status": str(status.get("status") or ""), "lost": self.lost}
            if self._seconds_left() <= 0:
                raise self._to_timeout()
            pause = _POLL_SECONDS[min(attempt, len(_POLL_SECONDS) - 1)]
            await asyncio.sleep(min(pause, max(self._seconds_left(), 0.0)))

    def _seconds_left(self) -> float:
        return self._until - time.monotonic()

    def _to_timeout(self) -> RuntimeTimeout:
        return RuntimeTimeout(
            f"Hermes was not done after {self._settings.most_seconds:g} seconds.",
            hint="Ask for less at once, or raise `most_seconds` under [plugins.hermes-runtime].",
        )

    async def stop(self) -> None:
        """Asks Hermes to stop and waits a few seconds for it."""
        if self.is_over:
            return
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._api.stop(self.id)
                while True:
                    if (await self._api.status(self.id)).get("status") in _END_STATES:
                        break
                    await asyncio.sleep(0.1)
        except HermesNotFound:
            pass  # it ended by itself
        except (RuntimeFailed, TimeoutError) as error:
            logger.warning("Hermes did not confirm that run %s has stopped: %s", self.id, error)
        self.is_over = True
