"""native: our own agent loop, on any model with an OpenAI-compatible, Anthropic or Google address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

import httpx2

from sojourn.core.errors import BadConfig, KeyRefused, RuntimeUnreachable, SojournError
from sojourn.core.messages import text_of
from sojourn.core.settings import Settings
from sojourn.ports.app import HasSettings
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.runtimes.models.catalogue import list_models
from sojourn.runtimes.models.choice import Choice, chosen, named
from sojourn.runtimes.models.local import USUAL, detect, for_chat
from sojourn.runtimes.models.window import ASSUMED, probe
from sojourn.runtimes.native.build import build
from sojourn.runtimes.native.line import Line, Patience
from sojourn.runtimes.native.translate import from_response
from sojourn.runtimes.native.turning import Turning
from sojourn.text.ansi import strip_control

_FRESH = 30.0  # seconds for which what was found on this machine is believed
SET_ONE_UP = "Start Ollama, LM Studio, llama.cpp or vLLM, or set model.provider and model.api_key."


class Native:
    """Streams, calls tools at once, tries again, counts, makes room. One object serves all turns of a process."""

    name = "native"
    label = "Sojourn's own agent"
    takes_tool_history = True
    steers: Literal[True] = True

    def __init__(
        self, settings: Settings, *, usual: Sequence[tuple[int, str]] = USUAL, first_wait: float = 1.0
    ) -> None:
        self._settings, self._usual = settings, usual
        self._patience = Patience(retries=settings["model.retries"], first_wait=first_wait)
        self._http: httpx2.AsyncClient | None = None
        self._found: tuple[float, Choice | None] = (0.0, None)
        self._windows: dict[tuple[str, str], int] = {}

    # which model
    def _client(self) -> httpx2.AsyncClient:
        """Our connections. Silence on one of them for too long is an error; a slow answer is not."""
        if self._http is None or self._http.is_closed:
            silence = self._settings["model.timeout_seconds"]
            self._http = httpx2.AsyncClient(
                timeout=httpx2.Timeout(silence, connect=min(10.0, silence), pool=None), follow_redirects=True
            )
        return self._http

    async def _choice(self, asked: str = "") -> Choice:
        """The model for a request: as it says, as the settings say, or what is found on this machine."""
        choice = chosen(self._settings)
        if choice is None:
            at, found = self._found
            if time.monotonic() - at > _FRESH or found is None:
                servers = await detect(self._settings, self._usual)
                found = next((one for server in servers if (one := server.choice())), None)
                self._found = (time.monotonic(), found)
            choice = found
        choice = named(choice, asked)
        if choice is None:
            raise BadConfig("No model is set up, and none was found on this machine.", hint=SET_ONE_UP)
        if not choice.name:
            choice = named(choice, (await self._models(choice) or ("",))[0])
        if choice is None or not choice.name:
            raise BadConfig("model.name is not set, and the server does not list any model.", hint="Set model.name.")
        return choice

    async def _models(self, choice: Choice) -> tuple[str, ...]:
        return for_chat(await list_models(self._client(), choice))

    async def _line(self, asked: str = "") -> Line:
        choice = await self._choice(asked)
        model = build(choice, self._client())
        return Line(model, choice, self._patience, max_tokens=self._settings["model.max_tokens"])

    async def _window(self, line: Line) -> int:
        if told := self._settings["model.context_window"]:
            return int(told)
        choice, known = line.choice, line.model.context_window
        key = (choice.base_url, choice.name)
        if key not in self._windows:
            if known and not choice.is_local:
                self._windows[key] = known
            else:  # a local server often runs a model with less than it could take
                self._windows[key] = await probe(self._client(), choice) or known or ASSUMED
        return self._windows[key]

    # the port
    async def ready(self) -> RuntimeStatus:
        try:
            async with asyncio.timeout(1.8):
                choice = await self._choice()
                models = await self._models(choice)
        except TimeoutError:
            return RuntimeStatus(ok=False, detail="The model server does not answer in time.", hint="Is it running?")
        except (BadConfig, KeyRefused, RuntimeUnreachable) as error:
            return RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        except SojournError as error:  # it is there, but does not list its models
            return RuntimeStatus(ok=True, detail=f"{await self._choice()}: {error}")
        return RuntimeStatus(ok=True, detail=str(choice), models=models)

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        line = await self._line(turn.model)
        turning = Turning(line, turn, await self._window(line), self._settings["model.steps"])
        async with aclosing(turning.run()) as items:
            async for item in items:
                yield item

    async def complete(self, instructions: str, text: str, *, most_tokens: int = 400) -> str:
        line = await self._line()
        response = await line.complete(instructions, text, max_tokens=most_tokens)
        return strip_control(text_of(from_response(response))).strip()

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None


def make(kit: HasSettings) -> Native:
    return Native(kit.settings)
