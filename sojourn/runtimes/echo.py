"""echo: repeats the request. The smallest runtime; copy it to write your own."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from sojourn.core.events import Chunk, Done
from sojourn.core.messages import assistant
from sojourn.ports.app import HasSettings
from sojourn.ports.plugin import Plugin
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.text.ansi import strip_control


class Echo:
    name = "echo"
    label = "Echo"
    takes_tool_history = False

    async def ready(self) -> RuntimeStatus:
        return RuntimeStatus(ok=True, detail="repeats the request")

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        text = strip_control(turn.said)  # a runtime never lets terminal escapes through
        for word in text.split():
            yield Chunk(word + " ")
        yield assistant(text)
        yield Done(usage={"input_tokens": len(text.split()), "output_tokens": len(text.split())})

    async def close(self) -> None:
        """Nothing to close."""


def make(app: HasSettings) -> Echo:
    return Echo()


plugin = Plugin(name="echo", summary="Repeats the request.", runtimes={"echo": make})
