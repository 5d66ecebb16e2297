"""`sojourn mcp` and `/mcp` as other programs use them: the SDK's own client, real processes, both transports."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from sojourn.core.messages import assistant, user
from sojourn.stores.sqlite.store import SqliteStore
from tests.e2e.http_server import PROGRAM, Serving

MODES = ("legacy", "auto")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def keep_talk(home: Path) -> None:
    store = SqliteStore(home / "state.db")
    session = await store.create(title="Cache")
    lease = await store.lease(session.id, holder="test", surface="cli")
    await store.append(lease, [user("Shall we keep redis?"), assistant("No, it ate memory. We drop redis.")])
    await store.renew(lease, 0)
    await store.close()


@pytest.fixture(scope="module")
def server():
    with tempfile.TemporaryDirectory(prefix="sj-") as folder:
        home = Path(folder) / ".sojourn"
        asyncio.run(keep_talk(home))
        with Serving(home, "--no-gateway") as serving:
            yield serving


async def use(client: Any) -> None:
    names = {one.name for one in (await client.list_tools()).tools}
    assert {"search_sessions", "read_session", "recall", "ask", "list_facts", "add_fact", "find_template"} == names
    hits = (await client.call_tool("search_sessions", {"query": "redis"})).structured_content["hits"]
    assert hits[0]["title"] == "Cache"
    answer = (await client.call_tool("ask", {"question": "why did we drop redis?"})).structured_content
    assert answer["text"] == "No, it ate memory. We drop redis."
    [resource] = (await client.list_resources()).resources
    assert "We drop redis." in (await client.read_resource(str(resource.uri))).contents[0].text
    prompt = await client.get_prompt("continue_session", {"session": "Cache"})
    assert "We drop redis." in prompt.messages[0].content.text


async def agree(_, params):
    return ElicitResult(action="accept", content={})


async def test_a_program_starts_it_and_talks_to_it(home):
    await keep_talk(home)
    command = StdioServerParameters(command=str(PROGRAM), args=["--home", str(home), "mcp"], env=dict(os.environ))
    async with Client(command, mode="legacy", elicitation_callback=agree) as client:
        await use(client)
        assert not (await client.call_tool("add_fact", {"text": "I use other agents"})).is_error


@pytest.mark.parametrize("mode", MODES)
async def test_a_program_talks_to_the_server(server, mode):
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
        Client(
            streamable_http_client(f"{server.address}/mcp", http_client=http), mode=mode, elicitation_callback=agree
        ) as client,
    ):
        await use(client)
        assert not (await client.call_tool("add_fact", {"text": f"I use {mode} clients"})).is_error


def test_nobody_comes_in_without_the_token_in_its_header(server):
    def hello(path: str = "/mcp", **headers: str) -> int:
        with httpx2.Client(base_url=server.address, timeout=30, trust_env=False) as client:
            return client.post(path, json=HELLO, headers={**ACCEPT, **headers}).status_code

    bearer = f"Bearer {server.token}"
    assert hello(Authorization=bearer) == 200
    assert hello() == 401
    assert hello(Authorization="Bearer wrong") == 401
    assert hello(f"/mcp?token={server.token}&access_token={server.token}") == 401
    assert hello(Authorization=bearer, Origin="https://evil.example") == 403
    assert hello(Authorization=bearer, Origin="null") == 403
    assert hello(Authorization=bearer, Host="evil.example") == 421
    assert hello(Authorization=bearer, **{"Sojourn-Principal": "guest:7"}) == 403
    assert server.client.get("/mcp", headers={**ACCEPT, "Origin": "https://evil.example"}).status_code == 403


def test_an_open_stream_does_not_keep_the_server_from_stopping(home):
    with Serving(home, "--no-gateway") as serving:
        opened = serving.client.post("/mcp", json=HELLO, headers=ACCEPT)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], **ACCEPT}
        with serving.client.stream("GET", "/mcp", headers=session) as stream:
            assert stream.status_code == 200
            code, _, log = serving.stop()
        assert (code, "Traceback" in log) == (0, False), log


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAM), *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False
    )


def test_it_is_put_into_another_programs_configuration_and_taken_out(home):
    file = home.parent / ".claude.json"
    file.write_text('{\n  "numStartups": 7\n}\n')
    unasked = run("mcp", "install", "claude")
    assert (unasked.returncode, "--yes" in unasked.stderr) == (2, True)
    assert '"numStartups": 7\n' in file.read_text()
    done = run("mcp", "install", "claude", "--yes")
    assert (done.returncode, str(file) in done.stdout) == (0, True)
    entry = json.loads(file.read_text())["mcpServers"]["sojourn"]
    assert (entry["command"], entry["args"][-1]) == (sys.executable, "mcp")
    assert "as it should be" in run("mcp", "install", "claude", "--yes").stdout
    assert run("mcp", "uninstall", "claude", "--yes").returncode == 0
    assert file.read_text() == '{\n  "numStartups": 7\n}\n'
    assert run("mcp", "uninstall", "claude", "--yes").returncode == 3
