"""The runtime contract on a real Hermes, behind a scripted model."""

import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from sojourn.core.settings import Secret
from sojourn.ports.tool import Tool
from sojourn.runtimes.hermes import HermesSettings
from sojourn.runtimes.hermes.runtime import HermesRuntimeAdapter
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Call, Garbage, ModelRequest, Say, Script
from sojourn.testing.model_server import ModelServer
from sojourn.testing.runtime_contract import RuntimeContract
from sojourn.testing.runtime_harness import GREETING, SLOW, ModelHarness, Situation

ROOT = Path(__file__).resolve().parents[2]
LACKS = {
    "thinks": "Hermes' runs tell no reasoning; what they call so is the answer once more",
    "is busy once": "Hermes itself tries again; here that is turned off, so that errors come at once",
    "closes upstream": "Hermes leaves its model's stream open after a stop",
    "our tools": "Hermes works with its own tools on its own host",
}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture(scope="module")
def hermes(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HermesProcess]:
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    hermes = HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url=model.url)
    hermes.start()
    yield hermes
    hermes.stop()


def terminal(command: str, before: str = "") -> list[Script]:
    call = Call("terminal", {"command": command})
    return [[Say(before), call] if before else [call], [Say(GREETING)]]


class HermesModelHarness(ModelHarness):
    """The situations as they are met behind Hermes, or in Hermes itself."""

    def __init__(self, model: ModelServer, hermes: HermesProcess) -> None:
        self.hermes = hermes
        settings = HermesSettings(url=hermes.url, api_key=Secret(hermes.key), patience_seconds=0.5)
        super().__init__(model, HermesRuntimeAdapter(settings), LACKS)
        self.tools: Sequence[Tool] = ()

    def scripts(self, situation: Situation) -> list[Script]:
        ours: dict[Situation, list[Script]] = {
            "calls a tool": terminal("echo sojourn", "Let me see. "),
            "calls a tool that fails": terminal("exit 3"),
            "calls a tool that never ends": terminal("sleep 600", "Wait. "),
            "dies while speaking": [self.dies],
            "answers garbage": [[Garbage()]],  # after a first word Hermes mends it: it asks its model to go on
        }
        return ours.get(situation) or super().scripts(situation)

    def dies(self, asked: ModelRequest) -> Sequence[Say]:
        threading.Timer(0.5, self.hermes.kill).start()
        return [Say(SLOW, pause=0.05)]

    def arrange(self, situation: Situation) -> str:
        self.model.play(*self.scripts(situation))
        if situation == "is unreachable":
            self.hermes.stop()
        elif situation == "hangs":
            self.hermes.pause()
        return "Hello there."


class TestHermes(RuntimeContract):
    @pytest.fixture
    async def harness(self, model: ModelServer, hermes: HermesProcess) -> AsyncIterator[HermesModelHarness]:
        if not hermes.is_up():
            hermes.start()
        harness = HermesModelHarness(model, hermes)
        yield harness
        hermes.go_on()
        await harness.runtime.close()
