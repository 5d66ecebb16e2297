"""MCP servers, ACP agents and skills: added, tried and removed over HTTP. What does not work changes nothing."""

from __future__ import annotations

import asyncio
import shlex
import stat
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sojourn.app import App
from sojourn.config import follow
from tests.integration.http.conftest import connect

MCP, ACP, SKILLS = "/api/plugins/mcp/servers", "/api/plugins/acp/agent", "/api/plugins/skills/skills"
MCP_SERVER = Path(__file__).parents[1] / "tools" / "mcp_server.py"
AGENT = Path(__file__).parents[2] / "e2e" / "acp_agent.py"
SERVER = {"command": sys.executable, "args": [str(MCP_SERVER), "stdio"], "env": {"TICKETS_TOKEN": "hidden-value-123"}}


@pytest.fixture
async def app(home: Path) -> AsyncIterator[App]:
    made = App(follow({"home": str(home), "model.detect": False}, {"HOME": str(home.parent), "PATH": "/usr/bin:/bin"}))
    yield made
    await made.close()


@pytest.fixture
async def client(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(app) as made:
        yield made


async def ask(client: httpx.AsyncClient, method: str, path: str, status: int = 200, **body: Any) -> Any:
    answer = await client.request(method, path, json=body or None)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def count_answers(client: httpx.AsyncClient, session: str) -> int:
    messages = (await ask(client, "GET", f"/api/sessions/{session}/messages"))["messages"]
    return sum(one["role"] == "assistant" for one in messages)


def tool_names(app: App) -> set[str]:
    return {tool.name for tool in app.tools() if tool.name.startswith("mcp_")}


# MCP servers
async def test_a_server_is_added_tried_used_and_removed_without_a_restart(client, app, home):
    assert await ask(client, "GET", MCP) == []
    assert tool_names(app) == set()
    added = await ask(client, "PUT", f"{MCP}/small", **SERVER)
    assert "add" in added["tools"]
    assert "mcp_small_add" in tool_names(app)
    (listed,) = await ask(client, "GET", MCP)
    assert (listed["name"], listed["variables"], listed["problem"]) == ("small", ["TICKETS_TOKEN"], "")
    assert "add" in listed["tools"]
    assert "hidden-value-123" not in (await client.get(MCP)).text
    assert "hidden-value-123" in (home / "config.toml").read_text()
    assert stat.S_IMODE((home / "config.toml").stat().st_mode) == 0o600
    assert "add" in (await ask(client, "POST", f"{MCP}/small/test"))["tools"]
    await ask(client, "DELETE", f"{MCP}/small", 204)
    assert tool_names(app) == set()
    await ask(client, "DELETE", f"{MCP}/small", 404)


BAD_SERVERS: list[tuple[dict[str, Any], int]] = [
    ({"command": "/no/such/program"}, 503),
    ({"command": "/bin/false"}, 503),
    ({}, 400),
    ({"command": "x", "url": "http://localhost"}, 400),
    ({"url": "http://127.0.0.1:9/mcp"}, 503),
    ({"command": "x", "sandbox": False}, 422),  # nothing leaves the sandbox from a page
]


async def test_a_server_that_does_not_work_is_not_kept(client, home):
    for table, status in BAD_SERVERS:
        answer = await client.put(f"{MCP}/bad", json=table)
        assert answer.status_code == status, (table, answer.text)
        assert not (home / "config.toml").exists()
    assert (await client.put(f"{MCP}/a.b", json=SERVER)).status_code == 422


# the ACP agent
async def test_an_agent_is_tried_and_set_up_without_a_restart(client, app, home):
    before = await ask(client, "GET", ACP)
    assert (before["ok"], before["program"]) == (False, "")
    command = shlex.join([sys.executable, str(AGENT), "--key=hidden-value-123"])
    tried = await ask(client, "POST", f"{ACP}/test", command=command)
    assert tried["name"]
    assert not (home / "config.toml").exists()
    saved = await ask(client, "PUT", ACP, command=command, name="Helper")
    assert (saved["ok"], saved["name"], saved["program"]) == (True, "Helper", sys.executable)
    assert "hidden-value-123" not in str(saved)
    runtimes = {one["name"]: one for one in await ask(client, "GET", "/api/runtimes")}
    assert runtimes["acp"]["ok"] is True
    await ask(client, "DELETE", ACP, 204)
    assert (await ask(client, "GET", ACP))["ok"] is False


async def test_several_agents_are_runtimes_of_their_own_and_each_answers(client, app, home):
    command = shlex.join([sys.executable, str(AGENT)])
    await ask(client, "PUT", ACP, command=command)
    tables = {
        "one": f"command = {command!r}",
        "two": f"command = {command!r}\nname = 'Second'",
        "lost": "name = 'x'",
        "odd": "command = 'a'\ncolour = 'red'",
        "flat": "command = 'a'\nguests = 'yes'",
        "'no name'": "command = 'a'",
    }
    with (home / "config.toml").open("a") as file:
        file.writelines(f"\n[plugins.acp.agents.{name}]\n{table}\n" for name, table in tables.items())
    app.settings = follow({"home": str(home), "model.detect": False}, {"PATH": "/usr/bin:/bin"})
    offered = {one["name"]: one for one in await ask(client, "GET", "/api/runtimes")}
    assert {name for name, one in offered.items() if name.startswith("acp") and one["ok"]} == {
        "acp",
        "acp-one",
        "acp-two",
    }
    assert (offered["acp-two"]["label"], "Second" in offered["acp-two"]["detail"]) == ("ACP agent two", True)
    wrong = [offered[f"acp-{name}"]["detail"] for name in ("lost", "odd", "flat", "no name")]
    assert [words.partition("]")[2] or words for words in wrong] == [
        " names no program.",
        " has no setting `colour`.",
        " cannot be read.",
        "An ACP agent is called 'no name'.",
    ]
    session = (await ask(client, "POST", "/api/sessions", 201, title="Two of them"))["id"]
    for number, runtime in enumerate(("acp-one", "acp-two"), 1):
        await ask(client, "POST", f"/api/sessions/{session}/turns", 202, message="STRAY", runtime=runtime)
        async with asyncio.timeout(30):
            while await count_answers(client, session) < number:
                await asyncio.sleep(0.05)
    assert app.runtime("acp-one").is_running
    assert app.runtime("acp-two").is_running
    await ask(client, "DELETE", ACP, 204)
    assert set(tomllib.loads((home / "config.toml").read_text())["plugins"]["acp"]) == {"agents"}


async def test_an_agent_that_does_not_start_is_not_kept(client, home):
    for command, status in (("no-such-agent-here", 503), ('a "quote', 400), ("/bin/false", 503), ("", 422)):
        answer = await client.put(ACP, json={"command": command})
        assert answer.status_code == status, (command, answer.text)
        assert not (home / "config.toml").exists()


# skills
async def test_a_skill_is_added_changed_and_deleted(client, home):
    made = await ask(client, "PUT", f"{SKILLS}/release-notes", description="Writes notes.", body="1. Find the tag.")
    assert (made["name"], made["body"]) == ("release-notes", "1. Find the tag.")
    assert [one["name"] for one in await ask(client, "GET", SKILLS)] == ["release-notes"]
    await ask(client, "PUT", f"{SKILLS}/release-notes", description="Writes: the\nnotes", body="---\n2. Else")
    again = await ask(client, "GET", f"{SKILLS}/release-notes")
    assert (again["description"], again["body"]) == ("Writes: the notes", "---\n2. Else")
    (home / "skills" / "release-notes" / "extra.txt").write_text("mine")
    await ask(client, "DELETE", f"{SKILLS}/release-notes", 204)
    assert (home / "skills" / "release-notes" / "extra.txt").exists()
    assert await ask(client, "GET", SKILLS) == []
    await ask(client, "DELETE", f"{SKILLS}/release-notes", 404)


async def test_a_skill_has_a_plain_name(client):
    for name in ("..", "a%2Fb", "A", "-x", "x" * 65, ".hidden", "a b"):
        answer = await client.put(f"{SKILLS}/{name}", json={"description": "d", "body": "b"})
        assert answer.status_code in (404, 405, 422), (name, answer.text)


async def test_a_skill_outside_our_folder_is_left_alone(client, home, tmp_path):
    theirs = tmp_path / "theirs" / "deploy"
    theirs.mkdir(parents=True)
    (theirs / "SKILL.md").write_text("---\nname: deploy\ndescription: d\n---\nx\n")
    (home / "skills").mkdir(parents=True)
    (home / "skills" / "deploy").symlink_to(theirs)
    for method in ("PUT", "DELETE"):
        body = {"description": "d", "body": "stolen"} if method == "PUT" else None
        answer = await client.request(method, f"{SKILLS}/deploy", json=body)
        assert answer.status_code == 400, answer.text
    assert (theirs / "SKILL.md").read_text().endswith("x\n")
