"""Which runtime answers: the one that is named, the one the session has, or the first that is ready."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, replace

from sojourn.core.errors import Conflict, NotFound, RuntimeFailed, SojournError
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.app import AgentContext
from sojourn.ports.records import Record
from sojourn.ports.runtime import CanSteer, RuntimeStatus
from sojourn.ports.service import RuntimeInfo, TurnRequest
from sojourn.service.loading import Loading

_SECONDS = 2.0
_FRESH = 30.0  # how long an answer to "are you ready?" holds
_KIND = "runtime"  # which runtime a session has
PREFERRED = ("native", "offline")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who answers. `new`: named with the request, so from now on the session has it."""

    runtime: str
    model: str
    new: bool = False


class Choosing:
    """Asks runtimes whether they are ready, and remembers the answer for a moment."""

    def __init__(self, kit: AgentContext, loading: Loading) -> None:
        self._kit, self._loading = kit, loading
        self._default, self._until = "", 0.0

    async def infos(self) -> list[RuntimeInfo]:
        """Every runtime as a picker shows it, all asked at once."""
        names = self._kit.runtime_names()
        answers = await asyncio.gather(*map(self._ready, names))
        default = self._pick(dict(zip(names, [ready for _, ready in answers], strict=True)))
        return [
            RuntimeInfo(
                name=name,
                label=label,
                ok=ready.ok,
                detail=ready.detail,
                hint=ready.hint,
                models=ready.models,
                default=name == default,
                steers=ready.ok and await self.steers(name),
            )
            for name, (label, ready) in zip(names, answers, strict=True)
        ]

    async def steers(self, name: str) -> bool:
        """Whether a running turn of this runtime hears what is said to it."""
        return isinstance(await self._loading.runtime(name), CanSteer)

    async def _ready(self, name: str) -> tuple[str, RuntimeStatus]:
        label = name
        try:
            runtime = await self._loading.runtime(name)
            label = runtime.label
            async with asyncio.timeout(_SECONDS):
                return label, await runtime.ready()
        except TimeoutError:
            return label, RuntimeStatus(ok=False, detail=f"gave no answer within {_SECONDS:g} seconds")
        except SojournError as error:
            return label, RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        except Exception as error:  # the host of a stranger's adapter: one that is broken must not hide the others
            logger.exception("runtime %s cannot say whether it is ready", name)
            return label, RuntimeStatus(
                ok=False, detail=f"{type(error).__name__}: {error}", hint="Update or remove it."
            )

    def _pick(self, ready: dict[str, RuntimeStatus]) -> str:
        chosen = str(self._kit.settings["agent.runtime"])
        if chosen:
            return chosen
        order = [*(name for name in PREFERRED if name in ready), *(name for name in ready if name not in PREFERRED)]
        return next((name for name in order if ready[name].ok), "")

    async def default(self) -> str:
        """The runtime for whoever names none."""
        if chosen := str(self._kit.settings["agent.runtime"]):
            return chosen
        if not self._default or time.monotonic() > self._until:
            self._default, self._until = await self._first_ready(), time.monotonic() + _FRESH
        return self._default

    async def _first_ready(self) -> str:
        for name in PREFERRED:
            if name in self._kit.runtime_names() and (await self._ready(name))[1].ok:
                return name
        chosen = next((info.name for info in await self.infos() if info.ok), "")
        if not chosen:
            raise RuntimeFailed("No runtime is ready.", hint="Look at `sojourn plugins`, or set agent.runtime.")
        return chosen

    def check(self, runtime: str) -> None:
        """NotFound for a name that is no runtime's; none is fine."""
        if runtime and runtime not in self._kit.runtime_names():
            names = ", ".join(self._kit.runtime_names()) or "none"
            raise NotFound(f'There is no runtime "{runtime}".', hint=f"There are: {names}.")

    async def choose(self, session: Session, said: TurnRequest) -> Chosen:
        """Runtime and model for a request. A model belongs to its runtime; that of an imported session belongs to
        the program it came from."""
        known = await self._kit.store.get_record(_KIND, session.id)
        had = str(known.value["runtime"]) if known else ""
        runtime = said.runtime or had or await self.default()
        self.check(runtime)
        ours = session.model if (known or not session.details.get("source_id")) and runtime == (had or runtime) else ""
        new = bool(said.runtime and said.runtime != had) or bool(said.model and said.model != ours)
        return Chosen(runtime, said.model or ours or "", new)

    async def remember(self, session: SessionId, runtime: str, model: str) -> None:
        """From now on the session has this runtime and this model."""
        store = self._kit.store
        await store.put_record(Record(kind=_KIND, key=session, value={"runtime": runtime}, session=session))
        for _ in range(10):  # a title may be given at the same moment
            found = await store.get(session)
            if (found.model or "") == model:
                return
            with suppress(Conflict):
                await store.change(found, replace(found, model=model or None))
