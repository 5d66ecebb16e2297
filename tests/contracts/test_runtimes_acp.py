"""The runtime contract on `hermes acp`, the real one, behind a scripted model."""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from sojourn.core.messages import assistant, user
from sojourn.ports.tool import Tool
from sojourn.runtimes.acp import AcpSettings
from sojourn.runtimes.acp.runtime import AcpRuntime
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Call, Garbage, Hang, ModelRequest, Say, Script
from sojourn.testing.model_server import ModelServer
from sojourn.testing.runtime_contract import RuntimeContract, play
from sojourn.testing.runtime_harness import GREETING, SLOW, ModelHarness, RuntimeHarness, Situation
from sojourn.testing.turn_runner import make_history

ROOT = Path(__file__).resolve().parents[2]
LACKS = {
    "is busy once": "Hermes itself tries again; here that is turned off, so that errors come at once",
    "closes upstream": "Hermes leaves its model's stream open after a stop",
    "our tools": "an agent works with its own tools",
}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture(scope="module")
def hermes(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> HermesProcess:
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    return HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url=model.url)


def terminal(command: str, before: str = "") -> list[Script]:
    call = Call("terminal", {"command": command})
    return [[Say(before), call] if before else [call], [Say(GREETING)]]


class AcpHarness(ModelHarness):
    """The situations as they are met behind the agent, or in its process. Its command is a script we can take away."""

    def __init__(self, model: ModelServer, hermes: HermesProcess, runtime: AcpRuntime, command: Path) -> None:
        self.command, self.pid = command, command.with_name("pid")
        self.command.write_text(f"#!/bin/sh\necho $$ > {self.pid}\nexec {shlex.join(hermes.acp)}\n")
        self.command.chmod(0o700)
        super().__init__(model, runtime, LACKS)
        self.tools: Sequence[Tool] = ()

    def scripts(self, situation: Situation) -> list[Script]:
        ours: dict[Situation, list[Script]] = {
            "calls a tool": terminal("echo sojourn", "Let me see. "),
            "calls a tool that fails": terminal("exit 3"),
            "calls a tool that never ends": terminal("sleep 600", "Wait. "),
            "dies while speaking": [self.dies],
            "answers garbage": [[Garbage()]],
            "hangs": [[Hang()]],
        }
        return ours.get(situation) or super().scripts(situation)

    def dies(self, asked: ModelRequest) -> Sequence[Say]:
        threading.Timer(0.5, os.kill, (int(self.pid.read_text()), signal.SIGKILL)).start()
        return [Say(SLOW, pause=0.05)]

    def arrange(self, situation: Situation) -> str:
        self.model.play(*self.scripts(situation))
        if situation == "is unreachable":
            self.command.unlink()
        return "Hello there."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(hermes: HermesProcess) -> AsyncIterator[tuple[AcpRuntime, Path]]:
    command = hermes.home.parent / "agent"
    runtime = AcpRuntime(AcpSettings(command=str(command), name="Hermes", idle_seconds=5.0))
    yield runtime, command
    await runtime.close()


@pytest.mark.filterwarnings("ignore:.*is not an async function")
@pytest.mark.asyncio(loop_scope="module")
class TestAcp(RuntimeContract):
    """One agent process for all of them, which is started again where a test ends it."""

    @pytest_asyncio.fixture(loop_scope="module")
    async def harness(
        self,
        model: ModelServer,
        hermes: HermesProcess,
        running: tuple[AcpRuntime, Path],
        request: pytest.FixtureRequest,
    ) -> AcpHarness:
        if "unreachable" in request.node.name or "not_being_ready" in request.node.name:
            await running[0].close()  # else the one that runs would still be reached
        return AcpHarness(model, hermes, *running)

    async def test_history_keeps_its_roles(self, harness: RuntimeHarness) -> None:
        """A new session of an agent takes one prompt, so who said what stands there in words."""
        await play(harness, "says", history=make_history(user("What is a sojourn?"), assistant("A temporary stay.")))
        told = harness.read_requests()[0].last_user_text()
        places = [told.index(words) for words in ("user: What is a s", "assistant: A temporary", "Hello there.")]
        assert places == sorted(places)
