"""echo: repeats what it hears. The smallest runtime there is; copy it to start yours."""

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
        return RuntimeStatus(ok=True, detail="repeats what it hears")

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        said = strip_control(turn.said)  # whatever it is given: nothing that moves a cursor leaves a runtime
        for word in said.split():
            yield Chunk(word + " ")
        yield assistant(said)
        yield Done(usage={"input_tokens": len(said.split()), "output_tokens": len(said.split())})

    async def close(self) -> None:
        """Nothing to let go of."""


def make(app: HasSettings) -> Echo:
    return Echo()


plugin = Plugin(name="echo", summary="Repeats what it hears.", runtimes={"echo": make})
