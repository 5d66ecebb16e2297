"""The small model at work: inside this process, on one thread, away from the event loop."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import xllamacpp  # type: ignore[import-untyped]

from sojourn.core.errors import ContextFull, RuntimeFailed
from sojourn.runtimes.offline.small_talk import MOST, Used
from sojourn.runtimes.offline.weights import Weights

CONTEXT = 2048
_SAMPLING = {"temperature": 0.2, "top_p": 0.9, "repeat_penalty": 1.1, "dry_multiplier": 0.8, "seed": 7}


class Engine:
    """Loads the weights when it is first asked, once; answers one question at a time."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._server: Any = None
        self._folder: Path | None = None
        self._turn = asyncio.Lock()
        self._last: asyncio.Future[None] | None = None  # an answer nobody wants any more, until it notices

    async def say(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = MOST
    ) -> AsyncGenerator[str | Used, None]:
        """Words as they come, then Used. Closing this stops the model after the word it is at."""
        async with self._turn:
            await self._quiet()
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
            async with aclosing(self._words(messages, max_tokens)) as words:
                async for piece in words:
                    yield piece

    async def _words(self, messages: Sequence[Mapping[str, str]], max_tokens: int) -> AsyncGenerator[str | Used, None]:
        heard: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
        loop, stop = asyncio.get_running_loop(), threading.Event()
        wish = {
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
            **_SAMPLING,
        }

        def hear(piece: Mapping[str, Any]) -> bool:
            if not stop.is_set():
                loop.call_soon_threadsafe(heard.put_nowait, piece)
            return stop.is_set()  # True: no more

        def work() -> None:
            try:
                self._server.handle_chat_completions(wish, hear)
            finally:
                if not stop.is_set():
                    loop.call_soon_threadsafe(heard.put_nowait, None)

        working = loop.run_in_executor(None, work)
        try:
            while (piece := await heard.get()) is not None:
                for word in _heard(piece):
                    yield word
        finally:
            stop.set()  # it notices at its next word; whoever speaks next waits for that
            self._last = working

    async def _quiet(self) -> None:
        if self._last is not None:
            await asyncio.wait({self._last})
            self._last = None

    def _load(self) -> Any:
        self._weights.check()
        self._folder = Path(tempfile.mkdtemp(prefix="sj-model-"))  # nobody else may look inside
        params = xllamacpp.CommonParams()
        params.model.path = str(self._weights.path)
        params.n_ctx, params.n_parallel, params.warmup = CONTEXT, 1, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two spin against each other
        params.verbosity = -1
        # The engine insists on an address of its own: a socket nobody can reach, behind a key nobody knows.
        params.hostnames, params.api_keys = [str(self._folder / "engine.sock")], [secrets.token_hex(16)]
        params.ui = params.endpoint_slots = params.endpoint_props = False
        try:
            return xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RuntimeFailed(
                f"{self._weights.path} cannot be loaded: {error}.", hint="Fetch it again with scripts/model."
            ) from error

    async def close(self) -> None:
        async with self._turn:
            await self._quiet()
            server, self._server = self._server, None
            folder, self._folder = self._folder, None
            if server is not None:
                held = [server]
                del server
                await asyncio.to_thread(held.clear)  # waits for its threads
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)


def _heard(piece: Mapping[str, Any]) -> list[str | Used]:
    if error := piece.get("error"):
        if error.get("type") == "exceed_context_size_error":
            raise ContextFull("This is more than the small model can take.", hint="Say it in fewer words.")
        raise RuntimeFailed(f"The small model failed: {error.get('message')}.", hint="Say it again.")
    if used := piece.get("usage"):
        return [Used(input_tokens=int(used["prompt_tokens"]), output_tokens=int(used["completion_tokens"]))]
    choices = piece.get("choices") or []
    words = [choice.get("delta", {}).get("content") for choice in choices]
    cut = [" …" for choice in choices if choice.get("finish_reason") == "length"]
    return [*filter(None, words), *cut]
