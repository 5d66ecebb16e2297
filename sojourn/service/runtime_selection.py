"""Runtime selection: the runtime a request names, the one its session has, or the first that is ready."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import asdict, dataclass, replace

from sojourn.core.errors import NotFound, RuntimeFailed, SojournError
from sojourn.core.sessions import Session, SessionId
from sojourn.plugin_cache import PluginCache
from sojourn.ports.app import AgentContext
from sojourn.ports.runtime import CanSteer, RuntimeStatus
from sojourn.ports.service import RuntimeInfo, TurnRequest
from sojourn.ports.store import Record, Transaction

_READY_TIMEOUT_SECONDS = 2.0
_DEFAULT_TTL_SECONDS = 30.0  # how long the chosen default holds
RUNTIME_KIND = "runtime"  # the runtime of a session
PREFERRED = ("native", "offline")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Selection:
    """The runtime and model of a turn. `new`: the request named them, so the session keeps them from now on."""

    runtime: str
    model: str
    new: bool = False


class RuntimeSelector:
    """Checks which runtimes are ready and selects one for each request."""

    def __init__(self, app: AgentContext, plugins: PluginCache) -> None:
        self._app, self._plugins = app, plugins
        self._default, self._until = "", 0.0

    async def describe_all(self) -> list[RuntimeInfo]:
        """Describes every runtime for a picker, checking all concurrently."""
        names = self._app.runtime_names()
        answers = await asyncio.gather(*map(self._check_ready, names))
        default = self._pick(dict(zip(names, [ready for _, ready in answers], strict=True)))
        return [
            RuntimeInfo(
                **asdict(ready),
                name=name,
                label=label,
                default=name == default,
                steers=ready.ok and await self.can_steer(name),
            )
            for name, (label, ready) in zip(names, answers, strict=True)
        ]

    async def can_steer(self, name: str) -> bool:
        """Whether this runtime takes text during a turn."""
        return isinstance(await self._plugins.runtime(name), CanSteer)

    async def _check_ready(self, name: str) -> tuple[str, RuntimeStatus]:
        label = name
        try:
            runtime = await self._plugins.runtime(name)
            label = runtime.label
            async with asyncio.timeout(_READY_TIMEOUT_SECONDS):
                return label, await runtime.ready()
        except TimeoutError:
            return label, RuntimeStatus(ok=False, detail=f"gave no answer within {_READY_TIMEOUT_SECONDS:g} seconds")
        except SojournError as error:
            return label, RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        except Exception as error:  # a broken third-party runtime must not hide the others
            logger.exception("runtime %s cannot say whether it is ready", name)
            return label, RuntimeStatus(
                ok=False, detail=f"{type(error).__name__}: {error}", hint="Update or remove it."
            )

    def _pick(self, ready: dict[str, RuntimeStatus]) -> str:
        selected = str(self._app.settings["agent.runtime"])
        if selected:
            return selected
        order = [*(name for name in PREFERRED if name in ready), *(name for name in ready if name not in PREFERRED)]
        return next((name for name in order if ready[name].ok), "")

    async def default(self) -> str:
        """The runtime of a request that names none."""
        if selected := str(self._app.settings["agent.runtime"]):
            return selected
        if self._default != PREFERRED[0] or time.monotonic() > self._until:  # a better one may be there by now
            self._default, self._until = await self._first_ready(), time.monotonic() + _DEFAULT_TTL_SECONDS
        return self._default

    async def _first_ready(self) -> str:
        for name in PREFERRED:
            if name in self._app.runtime_names() and (await self._check_ready(name))[1].ok:
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

    async def select(self, session: Session, known: Record | None, said: TurnRequest) -> Selection:
        """Selects runtime and model of a request. A model belongs to its runtime; the model of an imported session
        belongs to the program it came from. `known`: its record of RUNTIME_KIND."""
        had = str(known.value["runtime"]) if known else ""
        runtime = said.runtime or had or await self.default()
        self.require_known(runtime)
        ours = session.model if (known or not session.details.get("source_id")) and runtime == (had or runtime) else ""
        new = bool(said.runtime and said.runtime != had) or bool(said.model and said.model != ours)
        return Selection(runtime, said.model or ours or "", new)


def save_selection(store: Transaction, session: SessionId, runtime: str, model: str) -> Session:
    """Saves runtime and model as those of the session."""
    store.put_record(Record(kind=RUNTIME_KIND, key=session, value={"runtime": runtime}, session=session))
    found = store.get(session)
    return found if (found.model or "") == model else store.change(found, replace(found, model=model or None))
