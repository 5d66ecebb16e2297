"""The MCP server and programs of others: the real MCP inspector, and Claude Code with a scripted model behind it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import assistant, user
from sojourn.testing.model_script import Call, ModelRequest, Say
from sojourn.testing.model_server import ModelServer
from tests.servers.whatsapp_bridge import find_node

HERE = Path(__file__).resolve().parent / "mcp"
SOJOURN = str(Path(sys.executable).with_name("sojourn"))
TOOLS = {"search_sessions", "read_session", "recall", "ask", "list_facts", "add_fact", "find_template"}
SAID = "No, it ate memory. We drop redis."
pytestmark = pytest.mark.matrix


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    environment = {**os.environ, "PATH": f"{Path(find_node()).parent}:{os.environ['PATH']}"}
    subprocess.run(["npm", "ci", "--ignore-scripts", "--silent"], cwd=folder, env=environment, check=True)
    return folder / "node_modules"


@pytest.fixture
async def world(tmp_path) -> dict[str, str]:
    """The environment of a person who has talked about redis."""
    app = App(config.load({"home": str(tmp_path / "history"), "memory.embedder": "none"}))
    session = await app.store.create(title="Cache")
    lease = await app.store.lease(session.id, holder="test", surface="cli")
    await app.store.append(lease, [user("Shall we keep redis?"), assistant(SAID)])
    await app.store.renew(lease, 0)
    await app.close()
    path = f"{Path(find_node()).parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(tmp_path), "SOJOURN_HOME": str(tmp_path / "history")}


def inspect(packages: Path, world: dict[str, str], *asked: str):
    command = [str(packages / ".bin" / "mcp-inspector"), "--cli", "-e", f"SOJOURN_HOME={world['SOJOURN_HOME']}"]
    done = subprocess.run(
        [*command, SOJOURN, "mcp", "--method", *asked], capture_output=True, text=True, env=world, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_our_tools(packages, world):
    assert {one["name"] for one in inspect(packages, world, "tools/list")["tools"]} == TOOLS
    found = inspect(packages, world, "tools/call", "--tool-name", "search_sessions", "--tool-arg", "query=redis memory")
    assert not found["isError"]
    assert SAID in [hit["text"] for hit in found["structuredContent"]["hits"]]


def test_the_inspector_lists_and_gets_our_prompt(packages, world):
    (prompt,) = inspect(packages, world, "prompts/list")["prompts"]
    given = inspect(packages, world, "prompts/get", "--prompt-name", prompt["name"], "--prompt-args", "session=Cache")
    assert SAID in json.dumps(given)


def test_claude_code_answers_from_the_history(packages, world):
    subprocess.run([SOJOURN, "mcp", "install", "claude", "--yes"], env=world, check=True, capture_output=True)

    def answer(request: ModelRequest) -> list[Call | Say]:
        if SAID in json.dumps(request.body.get("messages")):
            return [Say("You dropped redis because it ate memory.")]
        name = "mcp__sojourn__search_sessions"
        return [Call(name, {"query": "redis memory"}) if name in request.tools else Call("WaitForMcpServers")]

    with ModelServer(answer) as model:
        environment = {
            **world,
            "ANTHROPIC_BASE_URL": model.origin,
            "ANTHROPIC_API_KEY": "sk-local-not-a-secret",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",  # every tool is in the request
            "IS_SANDBOX": "1",
        }
        claude = next((packages / "@anthropic-ai").glob("claude-code-*/claude"))
        options = ["-p", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"]
        done = subprocess.run(
            [claude, *options, "Why did we drop redis?"],
            capture_output=True,
            text=True,
            env=environment,
            timeout=300,
            cwd=world["HOME"],
            stdin=subprocess.DEVNULL,
        )
    assert "You dropped redis because it ate memory." in done.stdout, done.stderr
    assert {f"mcp__sojourn__{name}" for name in TOOLS} <= set(model.asked[-1].tools)
