"""native: our own agent loop, on any model with an OpenAI-compatible, Anthropic or Google address."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import httpx2

from sojourn.core.errors import BadConfig, KeyRefused, RuntimeUnreachable, SojournError
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginAccess
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.runtimes.models.local_model import USUAL_PORTS, find_local_model
from sojourn.runtimes.models.model_server import ASSUMED_WINDOW_TOKENS, list_chat_models, probe_context_window
from sojourn.runtimes.models.selection import ModelChoice, choice_for_request, choice_from_settings
from sojourn.runtimes.native.library_import import import_lean

if TYPE_CHECKING:  # the agent library takes a second to import: listing runtimes and models goes without it
    from sojourn.runtimes.native.model_client import ModelClient, open_client  # noqa: F401
    from sojourn.runtimes.native.native_turn import NativeTurn

CLIENT: Lazy[Callable[..., ModelClient]] = Lazy("sojourn.runtimes.native.model_client:open_client")
TURN: Lazy[type[NativeTurn]] = Lazy("sojourn.runtimes.native.native_turn:NativeTurn")
SETUP_HINT = "Start Ollama, LM Studio, llama.cpp or vLLM, or set model.provider and model.api_key."
_DETECTION_TTL_SECONDS = 30.0  # how long a model server found on this machine is believed to be there
_READY_SECONDS = 1.8


class NativeRuntimeAdapter:
    """Streams answers, runs tool calls in parallel, retries, counts cost, compacts. One object serves all turns.

    `load` imports a lazy part; it is called in a thread, because importing takes long.
    """

    name = "native"
    label = "Sojourn's own agent"
    takes_tool_history = True
    steers: Literal[True] = True

    def __init__(
        self,
        settings: Settings,
        load: Callable[[Lazy[Any]], Any],
        *,
        usual: Sequence[tuple[int, str]] = USUAL_PORTS,
        first_wait: float = 1.0,
    ) -> None:
        self._settings, self._load, self._usual, self._first_wait = settings, load, usual, first_wait
        self._http: httpx2.AsyncClient | None = None
        self._client: tuple[tuple[object, ...], ModelClient] | None = None  # with what it is made of
        self._start_turn: type[NativeTurn] | None = None
        self._found: tuple[float, ModelChoice | None] = (0.0, None)
        self._windows: dict[tuple[str, str], int] = {}

    # which model
    def _connections(self) -> httpx2.AsyncClient:
        """The HTTP client for all providers. Silence for `model.timeout_seconds` is an error; a slow answer is not."""
        if self._http is None or self._http.is_closed:
            silence = self._settings["model.timeout_seconds"]
            self._http = httpx2.AsyncClient(
                timeout=httpx2.Timeout(silence, connect=min(10.0, silence), pool=None), follow_redirects=True
            )
        return self._http

    async def _choose(self, requested: str = "") -> ModelChoice:
        """Returns the model that the request names, that the settings name, or that a server on this machine has."""
        choice = choice_from_settings(self._settings) or await self._detect()
        choice = choice_for_request(choice, requested, self._settings)
        if choice is None:
            raise BadConfig("No model is set up, and none was found on this machine.", hint=SETUP_HINT)
        if not choice.name:
            choice = choice_for_request(choice, (await list_chat_models(self._connections(), choice) or ("",))[0])
        if choice is None or not choice.name:
            raise BadConfig("model.name is not set, and the server does not list any model.", hint="Set model.name.")
        return choice

    async def _detect(self) -> ModelChoice | None:
        at, choice = self._found
        if choice is None or time.monotonic() - at > _DETECTION_TTL_SECONDS:
            choice = await find_local_model(self._settings, self._usual)
            self._found = (time.monotonic(), choice)
        return choice

    async def _open_client(self, requested: str = "") -> ModelClient:
        """The client of the model; the last one is used again while nothing that it is made of has changed."""
        choice, http = await self._choose(requested), self._connections()
        made_of = choice, http, self._settings["model.retries"], self._settings["model.max_tokens"]
        if self._client is None or self._client[0] != made_of:
            self._client = made_of, await asyncio.to_thread(self._make_client, choice, http)
        return self._client[1]

    def _make_client(self, choice: ModelChoice, http: httpx2.AsyncClient) -> ModelClient:
        with nullcontext() if self._start_turn else import_lean():
            client: ModelClient = self._load(CLIENT)(self._load, choice, http, self._settings, self._first_wait)
            self._start_turn = self._load(TURN)
        return client

    async def _context_window(self, client: ModelClient) -> int:
        if configured := self._settings["model.context_window"]:
            return int(configured)
        choice, known = client.choice, client.model.context_window
        key = (choice.base_url, choice.name)
        if key not in self._windows:
            if known and not choice.is_local:
                self._windows[key] = known
            else:  # a local server often runs a model with a smaller window than the model could have
                probed = await probe_context_window(self._connections(), choice)
                self._windows[key] = probed or known or ASSUMED_WINDOW_TOKENS
        return self._windows[key]

    # the port
    async def ready(self) -> RuntimeStatus:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                choice = await self._choose()
                models = await list_chat_models(self._connections(), choice)
        except TimeoutError:
            return RuntimeStatus(ok=False, detail="The model server does not answer in time.", hint="Is it running?")
        except (BadConfig, KeyRefused, RuntimeUnreachable) as error:
            return RuntimeStatus(ok=False, detail=str(error), hint=error.hint)
        except SojournError as error:  # the server answers, but does not list its models
            return RuntimeStatus(ok=True, detail=f"{await self._choose()}: {error}")
        return RuntimeStatus(ok=True, detail=str(choice), models=models)

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        client = await self._open_client(turn.model)
        window = await self._context_window(client)
        start_turn = self._start_turn
        assert start_turn is not None
        steps, parallel_calls = int(self._settings["model.steps"]), int(self._settings["tools.parallel_calls"])
        async with aclosing(start_turn(client, turn, window, steps, parallel_calls).run()) as items:
            async for item in items:
                yield item

    async def complete(self, instructions: str, text: str, *, most_tokens: int = 400) -> str:
        client = await self._open_client()
        return await client.complete_text(instructions, text, max_tokens=most_tokens)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = self._client = None


def make(app: PluginAccess) -> NativeRuntimeAdapter:
    """Builds the runtime from the settings."""
    return NativeRuntimeAdapter(app.settings, app.load)
