"""Programs that speak OpenAI's and Anthropic's API, on a real server: one test per cell of docs/reference/clients.md.

`openai` and `anthropic` are among our own packages and run with every test; the others, in an environment of their own,
with `make matrix`.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sojourn.testing.model_script import ModelRequest, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import Serving

HERE = Path(__file__).resolve().parent / "clients"
ROOT = HERE.parents[2]
HELLO, SEEN = "Hello from the model.", "I see a picture."
CELLS = ("list", "answer", "stream", "tools", "structured", "pictures", "errors", "turns")
LACKS = {
    "list": ("langchain", "litellm", "llm", "vercel", "compatible"),
    "tools": ("llm",),
    "structured": ("anthropic", "llm"),
}
OURS, OTHERS = ("openai", "responses", "anthropic"), ("langchain", "litellm", "llm", "vercel", "compatible")
ENVIRONMENTS = {"responses": "openai"}


def make_picture() -> str:
    """A picture of one pixel, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    whole = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + whole).decode()


def answer(request: ModelRequest) -> list[Any]:
    return [Say(SEEN if '"image' in json.dumps(request.body) else HELLO)]


class World:
    """A server with a scripted model behind it, and what each client did there."""

    def __init__(self, server: Serving, model: ModelServer) -> None:
        self.server, self.model = server, model
        self.run = cache(self._run)

    def _run(self, client: str, own_environment: bool) -> dict[str, Any]:
        if client in ("vercel", "compatible"):
            command = [shutil.which("node") or "node", str(self._install_node() / "client.mjs"), client]
        else:
            name = f"client-{ENVIRONMENTS.get(client, client)}"
            if own_environment:
                subprocess.run([ROOT / "scripts" / "witness", name], check=True, cwd=ROOT)
            python = ROOT / f".venv-{name}" / "bin" / "python" if own_environment else sys.executable
            command = [str(python), str(HERE / f"{client}_client.py")]
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "NO_PROXY": "127.0.0.1"}
        env |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            [*command, self.server.address, self.server.token, make_picture()],
            capture_output=True,
            text=True,
            timeout=300,
            env=env,
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        assert lines, done.stderr[-3000:]
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def _install_node(self) -> Path:
        target = ROOT / ".venv-client-vercel"
        locked = (HERE / "vercel" / "package-lock.json").read_bytes()
        if not (target / "made-from").exists() or (target / "made-from").read_bytes() != locked:
            shutil.copytree(HERE / "vercel", target, dirs_exist_ok=True)
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target, check=True)
            (target / "made-from").write_bytes(locked)
        shutil.copy(HERE / "vercel" / "client.mjs", target)
        return target


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("clients")
    with ModelServer(answer, aside=[Say("A title")]) as model:
        env = {
            "HOME": str(folder),
            "SOJOURN_MODEL_PROVIDER": "openai",
            "SOJOURN_MODEL_BASE_URL": model.url,
            "SOJOURN_MODEL": "scripted-1",
            "SOJOURN_MODEL_API_KEY": "k",
            "SOJOURN_RUNTIME": "native",
        }
        with Serving(folder / "home", "--no-gateway", **env) as server:
            yield World(server, model)


def check(world: World, client: str, cell: str, *, own_environment: bool) -> None:
    found = world.run(client, own_environment)
    if client in LACKS.get(cell, ()):
        assert cell not in found
        return
    told = found[cell]
    match cell:
        case "list":
            assert {"default", "native", "native/scripted-1"} <= set(told)
        case "answer" | "stream":
            assert told == HELLO
        case "pictures":
            assert told == SEEN
        case "tools":
            assert "has tools of its own and cannot call yours" in told
        case "structured":
            assert "an agent answers in text" in told
        case "errors":
            assert "There is no model 'nope'" in told
        case "turns":
            assert told == 60
            sessions = world.server.client.get(f"/api/sessions?text=Turn+0+of+{client}").json()["sessions"]
            assert [one["message_count"] for one in sessions] == [60]
            titles = [one for one in world.model.asked if not one.body.get("stream")]
            assert titles == []


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("client", OURS)
def test_our_slice_of_the_matrix(world: World, client: str, cell: str) -> None:
    check(world, client, cell, own_environment=False)


@pytest.mark.matrix
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("client", [*OURS, *OTHERS])
def test_each_client_in_its_own_environment(world: World, client: str, cell: str) -> None:
    check(world, client, cell, own_environment=True)
