"""Where tools work, and what they tell."""

from sojourn.ports.tool import Question, ToolResult
from sojourn.testing.scripted_runtime import CallTool, SayText
from sojourn.testing.service_steps import GUEST, ended, is_asked, opened, stages, talk
from sojourn.testing.turn_runner import make_tool


async def root(service, runtime, by=None, **fields):
    session = await opened(service, *([by] if by else []), **fields)
    await talk(service, session, "hello", *([by] if by else []))
    return runtime.seen[-1].workspace.root


async def test_the_folder_is_the_session_s_else_the_setting_s_else_one_in_the_home(serve, runtime, home, tmp_path):
    assert await root(serve(), runtime) == home / "workspace"
    assert await root(serve(agent_workspace=str(tmp_path)), runtime) == tmp_path.resolve()
    (home.parent / "work").mkdir()
    assert await root(serve(agent_workspace="~/work"), runtime) == (home.parent / "work").resolve()
    assert await root(serve(agent_workspace="~/work"), runtime, cwd=str(tmp_path)) == tmp_path.resolve()


async def test_a_guest_works_in_a_folder_of_their_own(serve, runtime, home, tmp_path):
    where = await root(serve(agent_workspace=str(tmp_path)), runtime, by=GUEST, cwd=str(tmp_path))
    assert where == home / "workspace" / "guests" / "guest"


async def test_a_folder_that_is_not_there_fails_the_turn_and_says_which(serve, runtime):
    service = serve()
    session = await opened(service, cwd="/nowhere/at/all")
    kept = await talk(service, session, "hello")
    assert (ended(kept), "/nowhere/at/all" in repr(kept)) == (("failed", ["bad_input"]), True)


async def test_what_a_tool_tells_is_seen(serve, runtime):
    async def run(at, given):
        for number in range(3):
            at.tell(f"line {number}")
        return ToolResult(text="three lines")

    runtime.on("run", CallTool("terminal"), SayText("done"))
    service = serve(tools=[make_tool("terminal", run)])
    kept = await talk(service, await opened(service), "run")
    assert [one["line"] for one in stages(kept, "tool") if "line" in one] == ["line 0", "line 1", "line 2"]


async def test_a_flood_of_lines_is_cut_and_the_turn_goes_on(serve, runtime):
    async def run(at, given):
        for number in range(10_000):
            at.tell(f"line {number}")
        return ToolResult(text="many lines")

    runtime.on("run", CallTool("terminal"), SayText("done"))
    service = serve(tools=[make_tool("terminal", run)])
    kept = await talk(service, await opened(service), "run")
    assert ended(kept) == ("completed", [])
    assert 100 < len(stages(kept, "tool")) < 1000


async def test_a_tool_asks_through_its_workspace(serve, runtime):
    async def run(at, given):
        reply = await at.ask(Question(id="q", text="Sure?", tool="terminal"))
        return ToolResult(text=reply.choice)

    runtime.on("run", CallTool("terminal"), SayText("done"))
    service = serve(tools=[make_tool("terminal", run)], agent_approval_seconds=0.02)
    kept = await talk(service, await opened(service), "run")
    assert [is_asked(one.item) for one in kept].count(True) == 1
    assert "deny" in [one.item.content for one in kept if getattr(one.item, "role", "") == "tool"]
