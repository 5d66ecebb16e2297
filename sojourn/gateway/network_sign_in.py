"""Sign-in to a network, step by step: the terminal walks through the steps, a browser asks for each of them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.errors import BadInput, NotFound, SojournError
from sojourn.gateway.network_setup import Network, add_network
from sojourn.ports.app import AppContext
from sojourn.ports.platform import BotProfile
from sojourn.ports.plugin import SignInStep
from sojourn.text.qr_code import draw_code

_STEP_SECONDS = 20.0  # to wait for the next step; a browser then asks again
_MAX_SECONDS = 600.0  # of a sign-in that nobody continues

SignInSteps = AsyncGenerator[SignInStep, str]


def open_steps(app: AppContext, network: Network, values: Mapping[str, Any]) -> SignInSteps:
    """The steps of a network's sign-in. BadInput if it has none."""
    plugin = next(one for one in app.plugins() if one.name == network.plugin)
    part = plugin.sign_ins.get(network.name)
    if part is None:
        raise BadInput(f"{network.name} has no sign-in.", hint="Set it up with its settings.")
    factory: Any = app.load(part)
    steps: SignInSteps = factory(values)
    return steps


async def walk_steps(steps: SignInSteps, show: Callable[[SignInStep], str]) -> dict[str, str]:
    """Goes through a sign-in and gives what it ends with. `show` shows a step, and returns what a person typed."""
    async with aclosing(steps):
        step = await anext(steps)
        while step.settings is None:
            step = await steps.asend(show(step))
        return dict(step.settings)


@dataclass(slots=True, kw_only=True)
class _SignIn:
    """One that is under way."""

    network: Network
    values: Mapping[str, Any]
    steps: SignInSteps
    began: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    shown: SignInStep | None = None
    next_step: asyncio.Task[SignInStep] | None = None

    async def take_step(self, answer: str) -> SignInStep:
        """The next step; the last one again if there is none in time. What ends the sign-in is raised."""
        if self.next_step is None:
            steps, shown = self.steps, self.shown
            self.next_step = asyncio.ensure_future(anext(steps) if shown is None else steps.asend(answer))
        waited, _ = await asyncio.wait({self.next_step}, timeout=_STEP_SECONDS if self.shown else None)
        if waited or self.shown is None:
            task, self.next_step = self.next_step, None
            if task.cancelled():
                raise NotFound("The sign-in was begun anew elsewhere.", hint="Begin again.")
            self.shown = task.result()
        return self.shown

    async def close(self) -> None:
        if self.next_step is not None:
            self.next_step.cancel()
            await asyncio.gather(self.next_step, return_exceptions=True)
        await self.steps.aclose()


class SignIns:
    """The sign-ins that browsers are going through, one for each network."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._open: dict[str, _SignIn] = {}

    async def begin(self, network: Network, values: Mapping[str, Any]) -> dict[str, Any]:
        """Begins anew and gives the first step. PlatformDown, BadInput."""
        for id, one in list(self._open.items()):
            if one.network.name == network.name or time.monotonic() - one.began > _MAX_SECONDS:
                await self._end(id)
        id = uuid.uuid4().hex
        self._open[id] = _SignIn(network=network, values=dict(values), steps=open_steps(self._app, network, values))
        return await self.advance(network, id, "")

    async def advance(self, network: Network, id: str, answer: str) -> dict[str, Any]:
        """The next step; the last one again if there is none yet. NotFound if it is over."""
        found = self._get(network, id)
        async with found.lock:
            self._get(network, id)  # another request may have ended it
            if found.shown is not None and found.shown.has_question and not answer and found.next_step is None:
                return _to_json(id, found.shown)
            try:
                step = await found.take_step(answer)
            except SojournError:
                await self._end(id)
                raise
            self._get(network, id)
            if step.settings is None:
                return _to_json(id, step)
            await self._end(id)
            profile = await add_network(self._app, network, {**found.values, **step.settings})
            return _to_json(id, step, profile)

    def _get(self, network: Network, id: str) -> _SignIn:
        found = self._open.get(id)
        if found is None or found.network.name != network.name:
            raise NotFound("There is no such sign-in.", hint="It may be over. Begin again.")
        return found

    async def close(self) -> None:
        for id in list(self._open):
            await self._end(id)

    async def _end(self, id: str) -> None:
        if (one := self._open.pop(id, None)) is not None:
            await one.close()


def _to_json(id: str, step: SignInStep, profile: BotProfile | None = None) -> dict[str, Any]:
    """What a browser may see: never what is kept."""
    return {
        "id": id,
        "text": step.text,
        "scan": step.scan,
        "picture": draw_code(step.scan) if step.scan else "",
        "has_question": step.has_question,
        "is_secret": step.is_secret,
        "is_done": step.settings is not None,
        "profile": None if profile is None else {"name": profile.name, "address": profile.address},
    }
