"""A runtime that streams text at a steady pace, each piece with its time: measures the delay that Sojourn adds.

It is a plugin. `install_plugin(folder)` makes it visible to a server started with that folder on PYTHONPATH.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request

from sojourn.core.events import Chunk, Done
from sojourn.core.messages import assistant
from sojourn.http.sse import EventStream
from sojourn.ports.app import AppContext
from sojourn.ports.plugin import Plugin
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput

NAME = "paced"


async def stream_paced(chunks: int, rate: float, begin: float) -> AsyncGenerator[str, None]:
    """Pieces of text, each with its number and its time. `begin` is a time of the monotonic clock."""
    begin = max(begin, time.monotonic())
    for number in range(chunks):
        await asyncio.sleep(begin + number / rate - time.monotonic())
        yield f"{number} {time.monotonic_ns()} "


class PacedRuntime:
    """Streams as many pieces as the request says: `{"chunks": 100, "rate": 20, "begin": 12345.6}`."""

    name, label, takes_tool_history = NAME, "Paced text", False

    async def ready(self) -> RuntimeStatus:
        return RuntimeStatus(ok=True, detail="always", models=("one", "two"))

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        options = {"chunks": 3, "rate": 200.0, "begin": 0.0}
        if turn.said.startswith("{"):
            options |= json.loads(turn.said)
        text = []
        async for piece in stream_paced(int(options["chunks"]), float(options["rate"]), float(options["begin"])):
            text.append(piece)
            yield Chunk(piece)
        yield assistant("".join(text))
        yield Done(usage={"input_tokens": len(turn.said.split()), "output_tokens": len(text)})

    async def close(self) -> None:
        pass


def build_runtime(kit: AppContext) -> PacedRuntime:
    return PacedRuntime()


def router(kit: AppContext) -> APIRouter:
    """The same pieces without a turn: the baseline that a turn is compared with."""
    routes = APIRouter()

    @routes.get("/bare", response_class=EventStream)
    async def bare(
        request: Request, chunks: Annotated[int, Query()] = 3, rate: float = 20.0, begin: float = 0.0
    ) -> EventStream:
        async def frames() -> AsyncGenerator[bytes, None]:
            number = 0
            async for piece in stream_paced(chunks, rate, begin):
                number += 1
                yield b'event: chunk\ndata: {"text":"%b"}\nid: %d\n\n' % (piece.encode(), number)
            yield b'event: done\ndata: {"status":"completed"}\nid: %d\n\n' % (number + 1)

        return EventStream(request.app.state.streams, frames())

    return routes


plugin = Plugin(
    name=NAME,
    summary="Streams text at a steady pace.",
    runtimes={NAME: "bench.paced_runtime:build_runtime"},
    routes=("bench.paced_runtime:router",),
)


def install_plugin(folder: Path) -> str:
    """Writes the plugin's entry point into `folder`; returns the PYTHONPATH for a server that loads it."""
    metadata = folder / "paced_runtime-0.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: paced-runtime\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("[sojourn.plugins]\npaced = bench.paced_runtime:plugin\n")
    return f"{folder}:{Path(__file__).resolve().parents[1]}"
