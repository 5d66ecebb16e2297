"""The bridge with the real Baileys, without an account: it starts, and our stand-in for it tells no lies."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sojourn.core.errors import KeyRefused, PlatformDown
from sojourn.platforms.whatsapp_bridge import PACKAGE, WhatsappBridgeSettings
from sojourn.platforms.whatsapp_bridge.bridge import Bridge
from tests.servers.whatsapp_bridge import STAND_IN, find_node

HERE = Path(__file__).resolve().parent / "baileys"
pytestmark = pytest.mark.matrix


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a person makes it, from a lock file of its own."""
    folder = tmp_path_factory.mktemp("baileys")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    environment = {**os.environ, "PATH": f"{Path(find_node()).parent}:{os.environ['PATH']}"}
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, env=environment, check=True)
    return folder


def test_the_lock_holds_the_version_that_people_are_told_to_install():
    asked = json.loads((HERE / "package.json").read_text())["dependencies"]
    assert f"baileys@{asked['baileys']}" == PACKAGE


async def test_our_program_starts_with_it_and_tries_to_connect(folder: Path):
    bridge = Bridge(WhatsappBridgeSettings(accept_risk=True, folder=folder, node=find_node()))
    states = bridge.watch_sign_in()
    state = await anext(states)
    assert state["state"] in ("scan", "closed")  # a code to scan, or no way to WhatsApp from here
    await states.aclose()
    await bridge.close()
    assert (folder / "auth").stat().st_mode & 0o777 == 0o700


async def test_an_adapter_says_that_nobody_is_connected(folder: Path):
    bridge = Bridge(WhatsappBridgeSettings(accept_risk=True, folder=folder, node=find_node()))
    with pytest.raises((PlatformDown, KeyRefused)):  # the second, where WhatsApp can be reached
        await bridge.open()
    await bridge.close()


def test_the_stand_in_of_our_tests_behaves_as_the_package(folder: Path):
    (folder / "control.json").write_text('{"port": 1, "signed_in": false}')
    shutil.copy(STAND_IN, folder / "stand_in.mjs")
    program = folder / "compare.mjs"
    shutil.copy(HERE / "compare.mjs", program)
    asked = [find_node(), str(program), str(folder), str(folder / "stand_in.mjs")]
    said = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True, cwd=folder).stdout)
    assert said["real"] == said["ours"]
    assert set(said["methods"]) == {"function"}
