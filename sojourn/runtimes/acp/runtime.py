"""The runtime `acp`: starts an agent's process and sends each turn to it as a prompt."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from sojourn.core.errors import BadConfig, SojournError
from sojourn.core.events import Done, Progress
from sojourn.ports.app import PluginAccess
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, SaveState, TurnInput
from sojourn.runtimes.acp import PLUGIN, AcpSettings
from sojourn.runtimes.acp.agent import AcpAgent, split_command
from sojourn.runtimes.acp.prompt import SeenHistory, build_content, build_state
from sojourn.runtimes.acp.prompt_call import FINISH_REASONS, NO_USAGE, PromptCall, finish_answer, parse_usage
from sojourn.runtimes.prompt_text import require_guest_access

_STOP_WAIT_SECONDS = 0.8
_NAME = re.compile("[a-z0-9][a-z0-9-]{0,40}")  # of one of several agents


class AcpRuntime:
    """One agent process for all sessions; started by the first turn, and again after it has exited."""

    takes_tool_history = False
    brings_tools: Literal[True] = True

    def __init__(
        self,
        settings: AcpSettings | Callable[[], AcpSettings],
        environment: Mapping[str, str] | None = None,
        *,
        agent: str = "",
    ) -> None:
        """settings: a function is asked for them again by each turn

        environment: all variables of the agent's process; None: those of this process
        agent: its name, if it is one of several
        """
        self.name = f"{PLUGIN}-{agent}" if agent else PLUGIN
        self.label = f"ACP agent {agent}".rstrip()
        self._read_settings = settings if callable(settings) else lambda: settings
        self._environment = environment
        self._command = ""  # of the agent that runs
        self._agent: AcpAgent | None = None
        self._starting = asyncio.Lock()
        self._cancelling: dict[str, asyncio.Task[None]] = {}  # prompts that are being cancelled, by the agent's session

    @property
    def _settings(self) -> AcpSettings:
        return self._read_settings()

    async def ready(self) -> RuntimeStatus:
        """Checks that the agent could be started, without starting it."""
        try:
            settings = self._settings
            words = split_command(settings.command)
        except SojournError as error:
            return RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        if self._agent is not None and self.is_running and self._command == settings.command:
            name = f"{self._agent.name} {self._agent.version}".strip()
            return RuntimeStatus(ok=True, detail=f"{name} is running")
        path = self._environment.get("PATH") if self._environment is not None else None
        if shutil.which(words[0], path=path) is None:
            return RuntimeStatus(
                ok=False,
                detail=f"There is no program `{words[0]}`.",
                hint=f"Install it, or correct `command` under [plugins.{PLUGIN}].",
            )
        return RuntimeStatus(ok=True, detail=f"{self._agent_name(words)}, started with the first turn")

    def _agent_name(self, words: list[str]) -> str:
        """Returns a name until the agent reports its own. Not the whole command: that may contain a key."""
        return self._settings.name or Path(words[0]).name

    @property
    def is_running(self) -> bool:
        return self._agent is not None and self._agent.alive

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        require_guest_access(turn, guests=self._settings.guests, agent="The agent", plugin=PLUGIN)
        name = self._agent_name(split_command(self._settings.command))
        yield Progress("prepare", {"runtime": self.name, "agent": name})
        agent, session, known = await self._open_session(turn)
        before = known.usage if known else NO_USAGE
        model = await agent.choose_model(session, turn.model)
        parts = await build_content(turn, known, images=agent.takes_images)
        prompt = PromptCall(agent, session, turn, parts, self._settings)
        try:
            yield SaveState(build_state(turn, session, known, before))
            detail = {"runtime": self.name, "agent": agent.name, "version": agent.version, "model": model}
            yield Progress("running", detail)
            while (update := await prompt.next_update()) is not None:
                for item in prompt.updates.map_update(update):
                    yield item
            result = await prompt.result()
            for item in finish_answer(agent, prompt.updates, result, turn.said):
                yield item
        except (asyncio.CancelledError, SojournError) as early:
            self._cancel(prompt)
            cancelled = isinstance(early, asyncio.CancelledError)
            for item in prompt.collect_outcome("cancelled" if cancelled else "error"):
                yield item
            if not cancelled:
                yield SaveState({})  # the agent's history is uncertain now: the next prompt contains everything
            raise
        finally:
            await self._end(prompt)
        reason = FINISH_REASONS[str(result["stopReason"])]
        for item in prompt.collect_outcome(reason):
            yield item
        used = parse_usage(result)
        if used is not None:
            yield SaveState(build_state(turn, session, known, used))
        status = "cancelled" if reason == "cancelled" else "completed"
        yield Done(status=status, usage=used.since(before) if used else {})

    async def _start_agent(self, turn: TurnInput) -> AcpAgent:
        async with self._starting:
            settings = self._settings
            if self._agent is None or not self._agent.alive or self._command != settings.command:
                if self._agent is not None:
                    await self._agent.close()
                folder = turn.workspace.root.absolute()
                self._agent = await AcpAgent.start(settings, folder, self._environment)
                self._command = settings.command
            return self._agent

    async def _open_session(self, turn: TurnInput) -> tuple[AcpAgent, str, SeenHistory | None]:
        """Returns the agent, its session for ours, and what that has seen; None for a new session."""
        known = SeenHistory.from_state(turn.state)
        if busy := self._cancelling.get(known.session_id):
            await asyncio.wait({busy})
        agent = await self._start_agent(turn)
        session, folder = known.session_id, turn.workspace.root.absolute()  # the protocol demands an absolute path
        if known.is_valid_for(turn) and await agent.load_session(session, folder):
            return agent, session, known
        return agent, await agent.new_session(folder), None

    # ending early
    def _cancel(self, prompt: PromptCall) -> None:
        if not prompt.is_over and prompt.session not in self._cancelling:
            task = asyncio.create_task(prompt.stop())
            self._cancelling[prompt.session] = task
            task.add_done_callback(lambda _: self._cancelling.pop(prompt.session, None))

    async def _end(self, prompt: PromptCall) -> None:
        """Waits briefly for the agent to stop; a longer cancellation continues in the background."""
        self._cancel(prompt)
        if task := self._cancelling.get(prompt.session):
            await asyncio.wait({task}, timeout=_STOP_WAIT_SECONDS)
        prompt.close()

    async def close(self) -> None:
        if self._cancelling:
            await asyncio.wait(set(self._cancelling.values()), timeout=2)
        if self._agent is not None:
            agent, self._agent = self._agent, None
            await agent.close()
        if self._cancelling:  # the process is gone, so they end at once
            await asyncio.wait(set(self._cancelling.values()))


def make(app: PluginAccess, agent: str = "") -> AcpRuntime:
    """Builds the runtime from [plugins.acp], or from [plugins.acp.agents.NAME]."""
    environment = dict(app.settings.for_children) or None
    return AcpRuntime(lambda: get_agent_settings(app.configured(PLUGIN), agent), environment, agent=agent)


def get_agent_settings(settings: AcpSettings, agent: str) -> AcpSettings:
    """The settings of one of several agents: its own ones, and the timeouts of all. BadConfig."""
    if not agent:
        return settings
    if not _NAME.fullmatch(agent):
        raise BadConfig(f"An ACP agent is called {agent!r}.", hint="Use small letters, digits and hyphens.")
    where, table = f"[plugins.{PLUGIN}.agents.{agent}]", settings.agents.get(agent)
    if not isinstance(table, Mapping) or not table.get("command"):
        raise BadConfig(f"{where} names no program.", hint='Add a line like `command = "gemini --experimental-acp"`.')
    own = {"name": agent, "guests": settings.guests, **table}
    if unknown := sorted(own.keys() - {"command", "name", "guests"}):
        raise BadConfig(f"{where} has no setting `{unknown[0]}`.", hint="There are: command, name, guests.")
    if not isinstance(own["command"], str) or not isinstance(own["name"], str) or not isinstance(own["guests"], bool):
        raise BadConfig(f"{where} cannot be read.", hint="`command` and `name` are texts, `guests` is true or false.")
    return replace(settings, **own)
