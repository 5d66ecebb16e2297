"""MCP servers become tools; one that dies, hangs or cannot start leaves the others alone."""

import asyncio
import json
import logging
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from sojourn.ports.service import Caller
from tests.integration.tools.tool_workspace import call, open_kit, room_in

SERVER = Path(__file__).with_name("mcp_server.py")


def stdio(mode="stdio", **more):
    return {"command": sys.executable, "args": [str(SERVER), mode], **more}


def toml(value):
    return (
        json.dumps(value)
        if not isinstance(value, dict)
        else "{" + ", ".join(f"{k} = {toml(v)}" for k, v in value.items()) + "}"
    )


@asynccontextmanager
async def kit_with(home, servers, seconds=15):
    home.mkdir(exist_ok=True)
    lines = [f"[plugins.mcp]\nseconds = {seconds}"]
    for name, table in servers.items():
        lines.append(f"[plugins.mcp.servers.{name}]")
        lines += [f"{key} = {toml(value)}" for key, value in table.items()]
    (home / "config.toml").write_text("\n".join(lines))
    async with open_kit() as kit:
        yield kit


async def tools_of(kit):
    return {one.name: one for one in await asyncio.to_thread(kit.tools) if one.name.startswith("mcp_")}


def count_processes(mark: str) -> int:
    """The processes that have the mark among their arguments."""
    found = 0
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            found += process.name.isdigit() and mark.encode() in (process / "cmdline").read_bytes()
    return found


async def test_tools_of_a_server_are_offered_and_called(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        room = await room_in(kit, tmp_path)
        found = await tools_of(kit)
        assert {"mcp_small_add", "mcp_small_sleep", "mcp_small_die"} <= set(found)
        assert found["mcp_small_add"].description == "Adds two numbers."
        assert found["mcp_small_add"].parameters["required"] == ["a", "b"]
        told = await call(kit, room, "mcp_small_add", a=2, b="3")
        assert told.text == "the sum is 5"
        assert told.facts["server"] == "small"
        assert room.asked[0].tool == "mcp_small_add"


async def test_only_a_trusted_server_says_which_tools_just_read(home, tmp_path):
    async with kit_with(home, {"a": stdio(), "b": stdio(trusted=True)}) as kit:
        found = await tools_of(kit)
        assert found["mcp_a_add"].effect == "runs"
        assert found["mcp_b_add"].effect == "reads"
        assert found["mcp_b_die"].effect == "runs"


async def test_wrong_arguments_are_explained_before_the_server_is_asked(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "mcp_small_add", a="many")
        assert not told.ok
        assert "`a` must be a whole number" in told.text


async def test_failure_of_a_tool_is_a_result(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "mcp_small_fail")
        assert not told.ok
        assert "fail" in told.text


async def test_server_sees_only_what_it_is_given(home, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-servers-1234567890")
    async with kit_with(home, {"small": stdio(env={"MINE": "yes"})}) as kit:
        told = await call(kit, await room_in(kit, tmp_path), "mcp_small_environment")
        assert "MINE=yes" in told.text
        assert "sk-not" not in told.text


async def test_server_that_dies_is_reported_and_started_again(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        room = await room_in(kit, tmp_path)
        told = await call(kit, room, "mcp_small_die")
        assert not told.ok
        assert '"small"' in told.text
        assert (await call(kit, room, "mcp_small_add", a=1, b=1)).text == "the sum is 2"


async def test_server_that_hangs_in_a_call_is_given_up(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        room = await room_in(kit, tmp_path)
        await call(kit, room, "mcp_small_add", a=1, b=1)
        room.seconds = 0.5
        told = await call(kit, room, "mcp_small_sleep", seconds=600)
        assert not told.ok
        assert "did not answer within 0.5 seconds" in told.text
        room.seconds = 10
        assert (await call(kit, room, "mcp_small_add", a=1, b=1)).ok


async def test_cancelling_a_call_leaves_the_server_usable(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        room = await room_in(kit, tmp_path)
        before = (await call(kit, room, "mcp_small_pid")).text
        running = asyncio.create_task(call(kit, room, "mcp_small_sleep", seconds=600))
        await asyncio.sleep(0.3)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await call(kit, room, "mcp_small_pid")).text == before


async def test_broken_mute_and_misspelled_servers_leave_the_rest_alone(home, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    servers = {
        "good": stdio(),
        "broken": stdio("broken"),
        "mute": stdio("mute", seconds=1),
        "odd": {"comand": "x"},
        "gone": {"command": "/no/such/program"},
    }
    async with kit_with(home, servers) as kit:
        room = await room_in(kit, tmp_path)
        found = await tools_of(kit)
        assert "mcp_good_add" in found
        assert "no licence" in found["mcp_broken_retry"].description
        assert "did not answer within 1 seconds" in found["mcp_mute_retry"].description
        assert "no setting `comand`" in found["mcp_odd_retry"].description
        assert "mcp_gone_retry" in found
        assert (await call(kit, room, "mcp_good_add", a=1, b=1)).ok
        assert not (await call(kit, room, "mcp_broken_retry")).ok
        rows = {row[1]: row for row in (await list_by_command(kit, room)).rows}
        assert [rows[name][0] for name in servers] == ["✓", "✗", "✗", "✗", "✗"]
        assert "add" in rows["good"][2]
        assert "no licence" in rows["broken"][2]
        assert any("MCP server broken" in one.getMessage() for one in caplog.records)


async def list_by_command(kit, room):
    return await kit.service.run_plugin_command("mcp", "", room.session, Caller(surface="cli"))


async def test_server_is_not_started_before_it_is_used(home, tmp_path):
    """What it offers is remembered from the last time, as long as its configuration is the same."""
    async with kit_with(home, {}) as kit:
        assert "No MCP server is set up" in (await list_by_command(kit, await room_in(kit, tmp_path))).lines[0]
    async with kit_with(home, {"small": stdio()}) as kit:
        assert "mcp_small_add" in await tools_of(kit)
    async with kit_with(home, {"small": stdio()}) as kit:
        assert "mcp_small_add" in await tools_of(kit)
        from sojourn.tools.mcp.hub import McpHub

        assert kit.shared(McpHub)._connections["small"]._task is None
        assert (await call(kit, await room_in(kit, tmp_path), "mcp_small_add", a=1, b=1)).ok


async def test_what_a_server_offers_by_now_is_there_at_the_next_start(home, tmp_path):
    async with kit_with(home, {"small": stdio()}) as kit:
        await tools_of(kit)
    kept = home / "mcp" / "small.json"
    known = json.loads(kept.read_text())
    kept.write_text(json.dumps({**known, "tools": [one for one in known["tools"] if one["name"] == "add"]}))
    async with kit_with(home, {"small": stdio()}) as kit:
        assert set(await tools_of(kit)) == {"mcp_small_add"}
        await call(kit, await room_in(kit, tmp_path), "mcp_small_add", a=1, b=1)
        async with asyncio.timeout(20):
            while len(json.loads(kept.read_text() or '{"tools": []}')["tools"]) < 6:
                await asyncio.sleep(0.05)


async def test_closing_the_kit_ends_the_servers(home, tmp_path):
    marked = stdio(args=[str(SERVER), "stdio", str(tmp_path)])
    async with kit_with(home, {"small": marked}) as kit:
        await call(kit, await room_in(kit, tmp_path), "mcp_small_pid")
        assert count_processes(str(tmp_path)) > 0
    assert count_processes(str(tmp_path)) == 0


async def test_a_server_is_confined_and_gets_the_folders_of_its_table(home, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("a note")
    reader = "import sys; print(open(sys.argv[1]).read(), file=sys.stderr); open(sys.argv[1], 'w')"
    argv = {"command": sys.executable, "args": ["-c", reader, str(notes / "a.txt")]}
    for more, seen in (({}, "Error"), ({"read": [str(notes)]}, "a note")):
        async with kit_with(home, {"small": {**argv, **more}}, seconds=5) as kit:
            await tools_of(kit)
        assert seen in (home / "logs" / "mcp-small.log").read_text()
        assert (notes / "a.txt").read_text() == "a note"


async def test_server_over_http(home, tmp_path):
    port = tmp_path / "port"
    process = subprocess.Popen([sys.executable, str(SERVER), "http", str(port)])
    try:
        async with asyncio.timeout(30):
            while not port.exists() or not port.read_text():
                await asyncio.sleep(0.05)
        url = f"http://127.0.0.1:{port.read_text()}/mcp"
        async with kit_with(home, {"far": {"url": url, "headers": {"X-Mine": "yes"}}}) as kit:
            room = await room_in(kit, tmp_path)
            assert (await call(kit, room, "mcp_far_add", a=4, b=4)).text == "the sum is 8"
            process.kill()
            process.wait()
            told = await call(kit, room, "mcp_far_add", a=4, b=4)
            assert not told.ok
            assert '"far"' in told.text
    finally:
        process.kill()
        process.wait()


async def test_nothing_is_loaded_when_no_server_is_configured(home):
    script = (
        "import sys\nfrom sojourn.app import build\nbuild().tools()\n"
        "sys.exit(any(name.split('.')[0] in ('mcp', 'pydantic_ai') for name in sys.modules))\n"
    )
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script])
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [("files", "read", "mcp_files_read"), ("files", "odd name/with.signs", "mcp_files_odd_name_with_signs")],
)
def test_names_are_such_that_every_model_takes_them(server, tool, name):
    from sojourn.tools.mcp.hub import tool_name

    assert tool_name(server, tool, set()) == name


def test_long_and_equal_names_are_told_apart():
    from sojourn.tools.mcp.hub import tool_name

    taken = set()
    made = [tool_name("s", tool, taken) for tool in ("x" * 100, "x" * 101, "a.b", "a_b")]
    assert len(set(made)) == 4
    assert all(len(one) <= 64 for one in made)
