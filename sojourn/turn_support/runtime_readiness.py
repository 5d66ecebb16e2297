"""Runtime readiness: which runtimes can work now, and which of them answers a request that names none."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, replace

from sojourn.core.errors import NotFound, RuntimeFailed, SojournError
from sojourn.ports.app import AgentContext
from sojourn.ports.runtime import CanSteer
from sojourn.ports.service import RuntimeInfo
from sojourn.turn_support.plugin_cache import PluginCache

_READY_TIMEOUT_SECONDS = 2.0
_DEFAULT_TTL_SECONDS = 30.0  # how long the chosen default holds
PREFERRED = ("native", "offline")
EXAMPLE_RUNTIMES = ("echo",)  # for who writes one: they work by name, and are not offered

logger = logging.getLogger(__name__)


class RuntimeReadiness:
    """Asks runtimes whether they are ready, and describes them."""

    def __init__(self, app: AgentContext, plugins: PluginCache) -> None:
        self._app, self._plugins = app, plugins
        self._default, self._until = "", 0.0

    async def describe_all(self) -> list[RuntimeInfo]:
        """Describes every runtime that a person may choose, checking all concurrently."""
        found = [one for one in await asyncio.gather(*map(self._describe, self._app.runtime_names())) if one.label]
        ready = [one.name for one in found if one.ok]
        first = next((name for name in (*PREFERRED, *ready) if name in ready), "")
        default = str(self._app.settings["agent.runtime"]) or first
        return [
            replace(one, default=one.name == default, offered=one.name == default or one.name not in EXAMPLE_RUNTIMES)
            for one in found
        ]

    async def can_steer(self, name: str) -> bool:
        """Whether this runtime takes text during a turn."""
        return isinstance(await self._plugins.runtime(name), CanSteer)

    async def _describe(self, name: str) -> RuntimeInfo:
        """A runtime as it is now; one that cannot say whether it is ready is not."""
        found = RuntimeInfo(name=name, label=name, ok=False)
        try:
            runtime = await self._plugins.runtime(name)
            found = replace(found, label=runtime.label)
            async with asyncio.timeout(_READY_TIMEOUT_SECONDS):
                status = await runtime.ready()
            return replace(found, **asdict(status), steers=status.ok and isinstance(runtime, CanSteer))
        except TimeoutError:
            return replace(found, detail=f"gave no answer within {_READY_TIMEOUT_SECONDS:g} seconds")
        except SojournError as error:
            return replace(found, detail=str(error), hint=error.hint)
        except Exception as error:  # a broken third-party runtime must not hide the others
            logger.exception("runtime %s cannot say whether it is ready", name)
            return replace(found, detail=f"{type(error).__name__}: {error}", hint="Update or remove it.")

    async def default(self) -> str:
        """The runtime of a request that names none."""
        if selected := str(self._app.settings["agent.runtime"]):
            return selected
        if self._default != PREFERRED[0] or time.monotonic() > self._until:  # a better one may be there by now
            self._default, self._until = await self._first_ready(), time.monotonic() + _DEFAULT_TTL_SECONDS
        return self._default

    async def _first_ready(self) -> str:
        for name in PREFERRED:
            if name in self._app.runtime_names() and (await self._describe(name)).ok:
                return name
        selected = next((info.name for info in await self.describe_all() if info.ok), "")
        if not selected:
            raise RuntimeFailed("No runtime is ready.", hint="Look at `sojourn plugins`, or set agent.runtime.")
        return selected

    def require_known(self, runtime: str) -> None:
        """NotFound for an unknown runtime; an empty name is fine."""
        if runtime and runtime not in self._app.runtime_names():
            names = ", ".join(self._app.runtime_names()) or "none"
            raise NotFound(f'There is no runtime "{runtime}".', hint=f"There are: {names}.")
