"""A model that speaks at a steady pace and says when it spoke: for measuring what we add to it.

A plugin like any other. `plugged(folder)` makes it visible to a server started with that folder on PYTHONPATH.
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


async def paced(chunks: int, rate: float, begin: float) -> AsyncGenerator[str, None]:
    """Pieces of text, each with its number and the moment it was said. `begin` is a moment of the monotonic clock."""
    begin = max(begin, time.monotonic())
    for number in range(chunks):
        await asyncio.sleep(begin + number / rate - time.monotonic())
        yield f"{number} {time.monotonic_ns()} "


class Paced:
    """Says as many pieces as it is asked for: `{"chunks": 100, "rate": 20, "begin": 12345.6}`."""

    name, label, takes_tool_history = NAME, "A steady voice", False

    async def ready(self) -> RuntimeStatus:
        return RuntimeStatus(ok=True, detail="always", models=("one", "two"))

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        asked = {"chunks": 3, "rate": 200.0, "begin": 0.0}
        if turn.said.startswith("{"):
            asked |= json.loads(turn.said)
        text = []
        async for piece in paced(int(asked["chunks"]), float(asked["rate"]), float(asked["begin"])):
            text.append(piece)
            yield Chunk(piece)
        yield assistant("".join(text))
        yield Done(usage={"input_tokens": len(turn.said.split()), "output_tokens": len(text)})

    async def close(self) -> None:
        pass


def make(kit: AppContext) -> Paced:
    return Paced()


def router(kit: AppContext) -> APIRouter:
    """The same voice without us: what is added is measured against this."""
    made = APIRouter()

    @made.get("/bare", response_class=EventStream)
    async def bare(
        request: Request, chunks: Annotated[int, Query()] = 3, rate: float = 20.0, begin: float = 0.0
    ) -> EventStream:
        async def frames() -> AsyncGenerator[bytes, None]:
            number = 0
            async for piece in paced(chunks, rate, begin):
                number += 1
                yield b'event: chunk\ndata: {"text":"%b"}\nid: %d\n\n' % (piece.encode(), number)
            yield b'event: done\ndata: {"status":"completed"}\nid: %d\n\n' % (number + 1)

        return EventStream(request.app.state.streams, frames())

    return made


plugin = Plugin(
    name=NAME, summary="Speaks at a steady pace.", runtimes={NAME: "bench.paced:make"}, routes=("bench.paced:router",)
)


def plugged(folder: Path) -> str:
    """Announces the plugin as an installed package would; the PYTHONPATH for a server that shall have it."""
    about = folder / "paced_voice-0.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: paced-voice\nVersion: 0\n")
    (about / "entry_points.txt").write_text("[sojourn.plugins]\npaced = bench.paced:plugin\n")
    return f"{folder}:{Path(__file__).resolve().parents[1]}"
