"""A turn imports the runtime that answers and the provider it uses, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.testing.model_script import Say
from tests.integration.runtimes.native_runtime import anthropic, openai

SDKS = ("anthropic", "google.genai", "openai", "pydantic_ai")
ASK = """
import asyncio, sys
from sojourn import config
from sojourn.plugins import Registry
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.testing.turn_runner import make_turn_input, run_turn

async def work():
    settings = config.load({"model.detect": False, "model.retries": 0, **GIVEN})
    native = NativeRuntimeAdapter(settings, Registry().load)
    shown = await run_turn(native, make_turn_input("hi"))
    assert shown.answers == ["Hello."], (shown.answers, shown.error)
    await native.close()

asyncio.run(work())
print(*sys.modules)
"""
LIST = """
import asyncio, sys
from sojourn import config
from sojourn.app import App

async def work():
    app = App(config.load({"model.detect": False}))
    found = {one.name for one in await app.service.runtimes()}
    assert {"native", "offline", "hermes", "acp", "echo"} <= found, found
    await app.close()

asyncio.run(work())
print(*sys.modules)
"""


def sdks_loaded_by(script: str, home: Path, **given: object) -> set[str]:
    """The SDKs among the modules that a fresh interpreter has after running the script."""
    code = script.replace("GIVEN", repr(given))
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "SOJOURN_HOME": str(home)},
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stdout.split()) & set(SDKS)


def dotted(given: dict[str, object]) -> dict[str, object]:
    return {name.replace("__", "."): value for name, value in given.items()}


@pytest.mark.parametrize(("rig", "sdk"), [(openai, "openai"), (anthropic, "anthropic")], ids=["openai", "anthropic"])
def test_a_native_turn_loads_the_sdk_of_its_provider_alone(rig, sdk, home):
    with rig() as (model, where):
        model.play([Say("Hello.")])
        assert sdks_loaded_by(ASK, home, **dotted(where)) == {"pydantic_ai", sdk}


def test_listing_runtimes_loads_no_sdk(home):
    assert sdks_loaded_by(LIST, home) == set()


def test_a_first_answer_of_offline_loads_few_modules(home):
    """Counted, not timed: the seconds depend on what else the machine does. Below 0.8 s of CPU on an idle one."""
    env = {**os.environ, "SOJOURN_HOME": str(home), "SOJOURN_MODEL_LOCAL_FILE": "/nowhere"}
    command = ["-m", "sojourn", "chat", "--in-process", "--runtime", "offline", "-q", "hello"]
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=False, timeout=60, env=env
    )
    assert "offline helper" in ran.stdout, ran.stderr
    loaded = [line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time")]
    assert set(loaded) & set(SDKS) == set()
    assert not {"httpcore2", "pydantic_core"} & set(loaded)
    assert len(loaded) < 600
