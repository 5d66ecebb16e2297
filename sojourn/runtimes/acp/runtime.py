"""The runtime `acp`: a turn is a prompt to an agent's process that we start, keep alive and end."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Literal

from sojourn.core.errors import SojournError
from sojourn.core.events import Done, Progress
from sojourn.ports.kit import Kit
from sojourn.ports.runtime import Given, Ready, Remember, TurnInput
from sojourn.runtimes.acp.agent import AcpAgent
from sojourn.runtimes.acp.process import words_of
from sojourn.runtimes.acp.prompt import SeenHistory, after, content, folder_of
from sojourn.runtimes.acp.prompt_call import PromptCall
from sojourn.runtimes.acp.settings import PLUGIN, AcpSettings
from sojourn.runtimes.acp.stop_reason import NO_USAGE, REASONS, finish, usage_of
from sojourn.runtimes.prompt_text import require_guest_access

_WAIT_FOR_STOP = 0.8


class AcpRuntime:
    """One agent process for all sessions; started when first needed, and again when it has died."""

    name = "acp"
    label = "ACP agent"
    takes_tool_history = False
    brings_tools: Literal[True] = True

    def __init__(self, settings: AcpSettings, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: all the variables the agent sees; None gives it ours."""
        self._settings, self._environment = settings, environment
        self._agent: AcpAgent | None = None
        self._starting = asyncio.Lock()
        self._ending: dict[str, asyncio.Task[None]] = {}  # by the agent's session: prompts that are being cancelled

    async def ready(self) -> Ready:
        """Whether it could be started; starting it is for the first turn."""
        try:
            words = words_of(self._settings.command)
        except SojournError as error:
            return Ready(ok=False, detail=str(error), hint=error.hint)
        if self._agent is not None and self.is_running:
            return Ready(ok=True, detail=f"{self._agent.name} {self._agent.version} is running".replace("  ", " "))
        path = self._environment.get("PATH") if self._environment is not None else None
        if shutil.which(words[0], path=path) is None:
            return Ready(
                ok=False,
                detail=f"There is no program `{words[0]}`.",
                hint=f"Install it, or correct `command` under [plugins.{PLUGIN}].",
            )
        return Ready(ok=True, detail=f"{self._called(words)}, started with the first turn")

    def _called(self, words: list[str]) -> str:
        """Its name until it has told one. Not the whole command: there may be a key in it."""
        return self._settings.name or Path(words[0]).name

    @property
    def is_running(self) -> bool:
        return self._agent is not None and self._agent.alive

    @property
    def process_id(self) -> int | None:
        return self._agent.process_id if self._agent is not None else None

    async def run(self, turn: TurnInput) -> AsyncGenerator[Given, None]:
        require_guest_access(turn, guests=self._settings.guests, agent="The agent", plugin=PLUGIN)
        yield Progress("prepare", {"runtime": self.name, "agent": self._called(words_of(self._settings.command))})
        agent, session, known = await self._opened(turn)
        before = known.usage if known else NO_USAGE
        model = await agent.choose(session, turn.model)
        parts = await content(turn, known, images=agent.takes_images)
        prompt = PromptCall(agent, session, turn, parts, self._settings)
        try:
            yield Remember(after(turn, session, known, before))
            shown = {"runtime": self.name, "agent": agent.name, "version": agent.version, "model": model}
            yield Progress("running", shown)
            while (update := await prompt.next()) is not None:
                for given in prompt.show.of(update):
                    yield given
            result = await prompt.result()
            for given in finish(agent, prompt.show, result, turn.said):
                yield given
        except (asyncio.CancelledError, SojournError) as early:
            self._stop(prompt)
            cancelled = isinstance(early, asyncio.CancelledError)
            for given in prompt.so_far("cancelled" if cancelled else "error"):
                yield given
            if not cancelled:
                yield Remember({})  # who knows what it has kept of this: next time it is told everything anew
            raise
        finally:
            await self._ended(prompt)
        reason = REASONS[str(result["stopReason"])]
        for given in prompt.so_far(reason):
            yield given
        used = usage_of(result)
        if used is not None:
            yield Remember(after(turn, session, known, used))
        yield Done(
            status="cancelled" if reason == "cancelled" else "completed", usage=used.since(before) if used else {}
        )

    async def _running(self, turn: TurnInput) -> AcpAgent:
        async with self._starting:
            if self._agent is None or not self._agent.alive:
                if self._agent is not None:
                    await self._agent.close()
                self._agent = await AcpAgent.start(self._settings, folder_of(turn), self._environment)
            return self._agent

    async def _opened(self, turn: TurnInput) -> tuple[AcpAgent, str, SeenHistory | None]:
        """The agent, its session for ours, and what that has seen; a new one has seen nothing."""
        known = SeenHistory.of(turn.state)
        if busy := self._ending.get(known.session_id):
            await asyncio.wait({busy})
        agent = await self._running(turn)
        session, folder = known.session_id, folder_of(turn)
        if known.still_holds(turn) and await agent.load_session(session, folder):
            return agent, session, known
        return agent, await agent.new_session(folder), None

    # ending early
    def _stop(self, prompt: PromptCall) -> None:
        if not prompt.over and prompt.session not in self._ending:
            task = asyncio.create_task(prompt.stop())
            self._ending[prompt.session] = task
            task.add_done_callback(lambda _: self._ending.pop(prompt.session, None))

    async def _ended(self, prompt: PromptCall) -> None:
        """Waits a moment until the agent has stopped; what takes longer goes on behind our back."""
        self._stop(prompt)
        if task := self._ending.get(prompt.session):
            await asyncio.wait({task}, timeout=_WAIT_FOR_STOP)
        prompt.close()

    async def close(self) -> None:
        if self._ending:
            await asyncio.wait(set(self._ending.values()), timeout=2)
        if self._agent is not None:
            agent, self._agent = self._agent, None
            await agent.close()
        if self._ending:  # now that it is gone they end at once
            await asyncio.wait(set(self._ending.values()))


def make(kit: Kit) -> AcpRuntime:
    return AcpRuntime(kit.configured(PLUGIN), dict(kit.settings.for_children) or None)
