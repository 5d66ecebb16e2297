"""A running prompt: its updates in order, its result, and its cancellation."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator

from sojourn.core.errors import RuntimeFailed, RuntimeTimeout
from sojourn.core.messages import Json
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.acp.agent import AcpAgent, Listener
from sojourn.runtimes.acp.jsonrpc import ConnectionClosed, Params, RpcError
from sojourn.runtimes.acp.permissions import Permissions
from sojourn.runtimes.acp.settings import PLUGIN, AcpSettings
from sojourn.runtimes.acp.stop_reason import is_hermes
from sojourn.runtimes.acp.updates import UNANSWERED, UpdateMapper

logger = logging.getLogger(__name__)

_STOP_SECONDS = 10.0


class PromptCall:
    """A prompt to the agent. Constructing it sends the request."""

    def __init__(
        self, agent: AcpAgent, session: str, turn: TurnInput, content: list[Params], settings: AcpSettings
    ) -> None:
        self.agent, self.session, self._settings = agent, session, settings
        self.updates = UpdateMapper(holds_first=is_hermes(agent))
        self._permissions = Permissions(turn, agent.name, settings.approval_seconds, self._report_unanswered)
        self._listener = Listener(self._permissions.ask)
        self._until = time.monotonic() + settings.most_seconds
        self._task = agent.start_prompt(session, content, self._listener)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def next_update(self) -> Params | None:
        """Returns the next update; None when the turn has ended. RuntimeTimeout."""
        left, idle = self._until - time.monotonic(), self._settings.idle_seconds
        try:
            async with asyncio.timeout(min(left, idle)):
                return await self._listener.updates.get()
        except TimeoutError as error:
            if left < idle:
                what, name = f"was not done after {self._settings.most_seconds:g} seconds", "most_seconds"
            else:
                what, name = f"said nothing for {idle:g} seconds", "idle_seconds"
            raise RuntimeTimeout(
                f"{self.agent.name} {what}.", hint=f"Ask for less at once, or raise `{name}` under [plugins.{PLUGIN}]."
            ) from error

    async def result(self) -> Params:
        try:
            result = await self._task
        except (RpcError, ConnectionClosed) as error:
            raise await self.agent.to_error(error) from error
        if not isinstance(result, dict):
            raise RuntimeFailed(f"{self.agent.name} ended the turn without a result.", hint="Update the agent.")
        return result

    def _report_unanswered(self, kept: dict[str, Json]) -> None:
        self._listener.updates.put_nowait({"sessionUpdate": UNANSWERED, **kept})

    def collect_outcome(self, finish_reason: str) -> Iterator[RuntimeOutput]:
        facts: Params = {
            "agent": self.agent.name,
            "version": self.agent.version,
            "agent_session": self.session,
            "approvals": [dict(one) for one in self._permissions.answers],
        }
        return self.updates.collect_outcome(finish_reason, facts)

    async def stop(self) -> None:
        """Cancels the prompt and waits for the agent; terminates an agent that does not react."""
        self._permissions.cancel_open()
        self.agent.cancel(self.session)
        await asyncio.wait({self._task}, timeout=_STOP_SECONDS)
        if self._task.done():
            return
        self._task.cancel()
        self.agent.open.discard(self.session)
        if not self.agent.is_busy(besides=self._listener):
            logger.warning("%s does not stop when asked to; it is ended", self.agent.name)
            await self.agent.close()

    def close(self) -> None:
        self._permissions.cancel_open()
        self.agent.remove_listener(self.session, self._listener)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # marks the exception as retrieved
