"""Inference engine of the small model: llama.cpp inside this process, on one thread beside the event loop."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any

import xllamacpp  # type: ignore[import-untyped]

from sojourn.core.errors import ContextFull, RuntimeFailed
from sojourn.runtimes.offline.small_model import MAX_ANSWER_TOKENS, ModelFile, TokenUsage

CONTEXT_TOKENS = 2048
_REQUEST = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0.2,
    "top_p": 0.9,
    "repeat_penalty": 1.1,
    "dry_multiplier": 0.8,
    "seed": 7,
}


class LlamaEngine:
    """Loads the model file with the first question; answers one question at a time."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        self._server: Any = None
        self._folder: Path | None = None
        self._lock = asyncio.Lock()
        self._generation: asyncio.Future[None] | None = None  # a stopped one continues until its next token

    async def stream_answer(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = MAX_ANSWER_TOKENS
    ) -> AsyncGenerator[str | TokenUsage, None]:
        """Yields text as the model generates it, then TokenUsage. Closing the generator stops the model."""
        async with self._lock:
            await self._wait_until_stopped()
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
            queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue()
            loop, stop = asyncio.get_running_loop(), threading.Event()
            request = {"messages": [dict(one) for one in messages], "max_tokens": max_tokens, **_REQUEST}

            def on_piece(piece: Mapping[str, Any]) -> bool:
                if not stop.is_set():
                    loop.call_soon_threadsafe(queue.put_nowait, piece)
                return stop.is_set()  # True: no more

            def generate() -> None:
                try:
                    self._server.handle_chat_completions(request, on_piece)
                finally:
                    if not stop.is_set():
                        loop.call_soon_threadsafe(queue.put_nowait, None)

            self._generation = loop.run_in_executor(None, generate)
            try:
                while (piece := await queue.get()) is not None:
                    for part in _parse_piece(piece):
                        yield part
            finally:
                stop.set()

    async def _wait_until_stopped(self) -> None:
        if self._generation is not None:
            await asyncio.wait({self._generation})

    def _load(self) -> Any:
        self._file.verify()
        self._folder = Path(tempfile.mkdtemp(prefix="sj-model-"))  # mode 0700
        params = xllamacpp.CommonParams()
        params.model.path = str(self._file.path)
        params.n_ctx, params.n_parallel, params.warmup = CONTEXT_TOKENS, 1, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two threads busy-wait for each other
        params.verbosity = -1
        # The engine demands an address: a socket in a private folder, with a random key.
        params.hostnames, params.api_keys = [str(self._folder / "engine.sock")], [secrets.token_hex(16)]
        params.ui = params.endpoint_slots = params.endpoint_props = False
        try:
            return xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise RuntimeFailed(
                f"{self._file.path} cannot be loaded: {error}.", hint="Fetch it again: `sojourn model fetch`."
            ) from error

    async def close(self) -> None:
        async with self._lock:
            await self._wait_until_stopped()
            servers, self._server = [self._server], None
            await asyncio.to_thread(servers.clear)  # dropping the last reference waits for its threads
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)


def _parse_piece(piece: Mapping[str, Any]) -> list[str | TokenUsage]:
    if error := piece.get("error"):
        if error.get("type") == "exceed_context_size_error":
            raise ContextFull("The question is longer than the small model accepts.", hint="Ask in fewer words.")
        raise RuntimeFailed(f"The small model failed: {error.get('message')}.", hint="Try again.")
    if used := piece.get("usage"):
        return [TokenUsage(input_tokens=int(used["prompt_tokens"]), output_tokens=int(used["completion_tokens"]))]
    choices = piece.get("choices") or []
    texts = [choice.get("delta", {}).get("content") for choice in choices]
    cut = [" …" for choice in choices if choice.get("finish_reason") == "length"]
    return [*filter(None, texts), *cut]
