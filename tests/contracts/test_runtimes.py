"""RuntimeContract on the runtimes that need nothing but this machine."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sojourn import config
from sojourn.core.errors import KeyRefused, RateLimited, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.plugins import Registry
from sojourn.ports.runtime import RuntimeStatus, SaveState
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.runtimes.echo import Echo
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.runtimes.offline.runtime import OfflineRuntime
from sojourn.runtimes.offline.small_model import find_model_file
from sojourn.testing import scripted_runtime
from sojourn.testing.model_script import ModelRequest
from sojourn.testing.model_server import ModelServer
from sojourn.testing.runtime_contract import RuntimeContract
from sojourn.testing.runtime_harness import COLOURED, GREETING, THOUGHT, ContractTools, ModelHarness, Situation
from sojourn.testing.scripted_runtime import Emit, Fail, PauseGate, Step
from sojourn.testing.turn_runner import make_tool


def settings(**given: Any) -> Settings:
    """Little patience, and no look at what else runs on this machine."""
    quick = {"model.timeout_seconds": 0.6, "model.retries": 2, "model.detect": False}
    return config.load({**quick, **{name.replace("__", "."): value for name, value in given.items()}})


class TestNativeOnOpenAI(RuntimeContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[ModelHarness]:
        with ModelServer() as model:
            native = NativeRuntimeAdapter(
                settings(model__base_url=model.url, model__name="scripted-1"), Registry().load, first_wait=0.01
            )
            yield ModelHarness(model, native)
            await native.close()


class TestNativeOnAnthropic(RuntimeContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[ModelHarness]:
        with ModelServer() as model:
            given = settings(
                model__provider="anthropic",
                model__base_url=model.origin,
                model__api_key="k",
                model__name="claude-sonnet-5",
            )
            native = NativeRuntimeAdapter(given, Registry().load, first_wait=0.01)
            yield ModelHarness(model, native)
            await native.close()


class TestNativeOnGoogle(RuntimeContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[ModelHarness]:
        with ModelServer() as model:
            model.answers["/v1beta/models"] = {"models": [{"name": "models/gemini-3-pro"}]}
            given = settings(
                model__provider="google", model__base_url=model.origin, model__api_key="k", model__name="gemini-3-pro"
            )
            native = NativeRuntimeAdapter(given, Registry().load, first_wait=0.01)
            yield ModelHarness(model, native)
            await native.close()


class EchoHarness:
    """What is said is what comes back."""

    lacks: Mapping[str, str] = (
        dict.fromkeys(
            (
                "is unreachable",
                "refuses the key",
                "is busy",
                "is busy once",
                "has an error",
                "dies while speaking",
                "hangs",
                "answers garbage",
                "speaks slowly",
                "closes upstream",
            ),
            "there is nothing behind it, and it says all at once",
        )
        | dict.fromkeys(
            ("calls a tool", "calls two tools", "calls a tool that fails", "calls a tool that never ends", "our tools"),
            "it only repeats, and calls nothing",
        )
        | dict.fromkeys(("thinks", "sees context", "remembers"), "no model is behind it")
    )
    words: Mapping[str, str] = {"says": GREETING, "says terminal bytes": COLOURED}

    def __init__(self) -> None:
        self.runtime, self.tools = Echo(), ()

    def arrange(self, situation: Situation) -> str:
        return self.words[situation]

    def read_requests(self) -> list[ModelRequest]:
        return []


class TestEcho(RuntimeContract):
    @pytest.fixture
    def harness(self) -> EchoHarness:
        return EchoHarness()


class ScriptedHarness:
    """The runtime for users' tests: each situation is a script."""

    lacks: Mapping[str, str] = {
        "says terminal bytes": "it says exactly what a test has written, good or bad",
        "calls two tools": "a script makes one call after the other",
        "is busy once": "it plays its script once, and never by itself again",
        "sees context": "no model is behind it; a test looks at `seen`",
        "closes upstream": "there is no connection to close",
    }
    scripts: Mapping[str, tuple[Step, ...]] = {
        "says": (Emit(SaveState({"turns": 1})), scripted_runtime.SayText(GREETING)),
        "thinks": (Emit(Progress("thinking", {"text": THOUGHT})), scripted_runtime.SayText(GREETING)),
        "calls a tool": (scripted_runtime.CallTool("look_up", {"word": "sojourn"}), scripted_runtime.SayText(GREETING)),
        "calls a tool that fails": (
            scripted_runtime.CallTool("fail", {"word": "x"}),
            scripted_runtime.SayText(GREETING),
        ),
        "calls a tool that never ends": (scripted_runtime.CallTool("linger", {"word": "z"}),),
        "speaks slowly": (scripted_runtime.SayText("and so", kept=False), PauseGate("never")),
        "is unreachable": (Fail(RuntimeUnreachable("It is away.", hint="Start it.")),),
        "refuses the key": (Fail(KeyRefused("No.", hint="Another key.")),),
        "is busy": (Fail(RateLimited("Too many.", hint="Wait.")),),
        "has an error": (Fail(RuntimeFailed("It broke.", hint="Look at its log.")),),
        "dies while speaking": (
            scripted_runtime.SayText("I was", kept=False),
            Fail(RuntimeUnreachable("Gone.", hint="Try.")),
        ),
        "hangs": (Fail(RuntimeTimeout("Not a word.", hint="Try again.")),),
        "answers garbage": (Fail(RuntimeFailed("That is no answer.", hint="Try another.")),),
    }

    def __init__(self) -> None:
        self.runtime = scripted_runtime.ScriptedRuntime()
        self.tools = ContractTools().all()

    def arrange(self, situation: Situation) -> str:
        self.runtime.on(situation, *self.scripts[situation])
        if situation == "is unreachable":
            self.runtime = scripted_runtime.ScriptedRuntime(
                ready=RuntimeStatus(ok=False, detail="It is away.", hint="Start it.")
            )
            self.runtime.on(situation, *self.scripts[situation])
        return situation

    def read_requests(self) -> list[ModelRequest]:
        return []


class TestScripted(RuntimeContract):
    @pytest.fixture
    def harness(self) -> ScriptedHarness:
        return ScriptedHarness()


NO_SERVER = dict.fromkeys(
    (
        "is unreachable",
        "refuses the key",
        "is busy",
        "is busy once",
        "has an error",
        "dies while speaking",
        "hangs",
        "answers garbage",
    ),
    "there is nothing behind it that could fail in this way",
) | {
    "sees context": "no model is behind it whose requests could be seen",
    "thinks": "neither rules nor so small a model do",
    "says terminal bytes": "what it says cannot be scripted; what tools give is tested with the rules",
    "closes upstream": "there is no connection to close",
    "our tools": "it knows its own tools by name and calls no other",
    "calls two tools": "a rule calls one tool at a time",
    "remembers": "every request stands for itself",
}


class OfflineHarness:
    """The words that lead into a situation; the tools are those it knows."""

    words: Mapping[str, str] = {
        "says": "help",
        "calls a tool": "read notes.txt",
        "calls a tool that fails": "read nothing.txt",
        "calls a tool that never ends": "run sleep",
    }

    def __init__(self, runtime: OfflineRuntime, **lacks: str) -> None:
        self.runtime = runtime
        self.lacks: Mapping[str, str] = {**NO_SERVER, **{name.replace("_", " "): why for name, why in lacks.items()}}
        linger = next(tool for tool in ContractTools().all() if tool.name == "linger")
        self.tools: Sequence[Tool] = (
            make_tool("read_file", self._read, path="which file"),
            replace(linger, name="terminal"),
        )

    async def _read(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        await asyncio.sleep(0)
        found = given["path"] == "notes.txt"
        return ToolResult(text="buy milk" if found else "There is no such file.", ok=found)

    def arrange(self, situation: Situation) -> str:
        return self.words[situation]

    def read_requests(self) -> list[ModelRequest]:
        return []


class TestOfflineRules(RuntimeContract):
    @pytest.fixture
    async def harness(self) -> AsyncIterator[OfflineHarness]:
        offline = OfflineRuntime(settings(model__local_file="/nowhere"), Registry().load)
        yield OfflineHarness(offline, usage="rules use no tokens", speaks_slowly="rules answer at once")
        await offline.close()


@pytest.mark.slow
class TestOfflineModel(RuntimeContract):
    """The same with the real small model."""

    @pytest.fixture
    async def harness(self) -> AsyncIterator[OfflineHarness]:
        found = find_model_file(settings())
        assert found is not None, "fetch it with scripts/model"
        offline = OfflineRuntime(settings(model__local_file=str(found.path)), Registry().load)
        made = OfflineHarness(offline)
        asked = "Say hello to my cat."
        made.words = {**OfflineHarness.words, "says": asked, "speaks slowly": "Tell me a long story about the sea."}
        yield made
        await offline.close()
