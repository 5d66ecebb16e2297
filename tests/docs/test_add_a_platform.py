"""The page that tells how to add a chat network: its adapter keeps the contract, and a gateway serves it."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.gateway.adapters import list_configured
from sojourn.gateway.host import Gateway
from sojourn.plugins import BUILT_INS, Registry, ThirdParty

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-platform.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    adapter, contract = blocks("python")
    (tmp_path / "garden_folder.py").write_text(adapter, "utf-8")
    (tmp_path / "test_folder.py").write_text(contract, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("garden_folder", None)


def test_the_example_keeps_the_contract(example):
    (example / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_folder.py"]
    done = subprocess.run(command, cwd=example, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)


async def test_a_gateway_serves_the_example(example, monkeypatch, home):
    name, dotted = re.search(r'(\S+) = "(garden_folder:plugin)"', blocks("toml")[0]).groups()
    letters = example / "letters"
    for folder in ("in", "out"):
        (letters / folder).mkdir(parents=True)
    monkeypatch.setenv("SOJOURN_FOLDER_PATH", str(letters))
    kit = App(config.load({"gateway.owners": "folder:ann", "agent.runtime": "echo"}))
    kit.registry = Registry(BUILT_INS, lambda: [ThirdParty(name, dotted)])
    assert list_configured(kit) == ["local", "folder"]
    running = asyncio.create_task(Gateway(kit).run())
    (letters / "in" / "ann-1.txt").write_text("the roses bloom", "utf-8")
    answer = letters / "out" / "ann-1.txt"
    async with asyncio.timeout(30):
        while not (answer.exists() and answer.read_text()):
            await asyncio.sleep(0.05)
    assert answer.read_text() == "the roses bloom"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await kit.close()
