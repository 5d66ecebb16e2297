"""What holds for every tool, whoever made it."""

import asyncio
import json
from pathlib import Path

import pytest

from sojourn.core.errors import BadConfig
from sojourn.ports.tool import Question, Reply, ToolResult, Workspace
from sojourn.settings.formats import parse_policy
from sojourn.tool_schema import tool
from sojourn.tools.guard import guard
from sojourn.tools.registry import build_tools
from tests.integration.tools.tool_workspace import tool_of

with_settings = lambda **given: pytest.mark.parametrize("settings", [given], indirect=True)  # noqa: E731


@tool(effect="writes")
async def scribble(at: Workspace, text: str, times: int = 1) -> str:
    """Says what it would write."""
    return text * times


@tool()
async def look(at: Workspace, text: str = "seen") -> str:
    """Says something."""
    return text


def test_every_tool_of_the_issue_is_there_with_its_effect(kit):
    effects = {one.name: one.effect for one in build_tools(kit)}
    assert effects == {
        "terminal": "runs",
        "process": "runs",
        "execute_code": "runs",
        "delegate_task": "runs",
        "write_file": "writes",
        "patch": "writes",
        "memory": "writes",
        "todo": "writes",
        "read_file": "reads",
        "send_file": "reads",
        "search_files": "reads",
        "web_fetch": "reads",
        "web_search": "reads",
        "session_search": "reads",
        "session_list": "reads",
        "skills_list": "reads",
        "skill_view": "reads",
    }


def test_every_tool_describes_itself_and_each_parameter(kit):
    for one in kit.tools():
        assert len(one.description) > 30, one.name
        json.dumps(one.parameters)
        for name, schema in one.parameters["properties"].items():
            assert schema.get("description"), f"{one.name}.{name}"


def test_a_tool_is_guarded_once(kit):
    once = guard(kit, scribble)
    assert guard(kit, once) is once
    assert once.asks is None


async def test_wrong_arguments_are_explained_to_the_model(kit, room):
    told = await guard(kit, scribble).run(room, {"texd": "x", "times": "many"})
    assert not told.ok
    assert "no argument `texd`" in told.text
    assert "`text` is missing" in told.text
    assert "`times` must be a whole number" in told.text
    assert room.asked == []


async def test_arguments_may_be_json_text(kit, room):
    assert (await guard(kit, scribble).run(room, '{"text": "ab", "times": "2"}')).text == "abab"


async def test_what_writes_asks(kit, room):
    await guard(kit, scribble).run(room, {"text": "x"})
    assert room.asked[0].tool == "scribble"
    assert room.asked[0].choices == ("once", "session", "always", "deny")
    assert room.asked[0].id.startswith("q_")


async def test_what_reads_does_not_ask(kit, room):
    assert (await guard(kit, look).run(room, {})).text == "seen"
    assert room.asked == []


async def test_no_is_told_with_the_reason(kit, room):
    async def no(question):
        return Reply(choice="deny", why="not on a Sunday")

    room.ask = no
    told = await guard(kit, scribble).run(room, {"text": "x"})
    assert not told.ok
    assert "not on a Sunday" in told.text


async def test_an_answer_that_was_not_offered_is_a_no(kit, room):
    room.answers = ["always"]
    told = await guard(kit, tool_of(kit, "terminal")).run(room, {"command": "rm -rf ~", "access": "outside"})
    assert not told.ok


@with_settings(**{"tools.approval": "always"})
async def test_always_asks_nothing_inside_the_sandbox_and_everything_outside(kit, room, use):
    assert (await guard(kit, scribble).run(room, {"text": "x"})).ok
    assert (await use("terminal", command="echo inside")).ok
    assert room.asked == []
    room.answers = ["deny", "deny"]
    assert not (await use("terminal", command="git reset --hard", access="outside")).ok
    assert "discards uncommitted changes" in room.asked[0].text
    assert room.asked[0].choices == ("deny", "once")  # what looks dangerous is denied first
    assert not (await use("terminal", command="true", access="network")).ok
    assert room.asked[1].choices == ("once", "session", "deny")


@with_settings(**{"tools.approval": "ask, scribble=deny, look=deny, terminal=always"})
async def test_one_tool_can_have_its_own_word(kit, room, use):
    assert "settings do not allow scribble" in (await guard(kit, scribble).run(room, {"text": "x"})).text
    assert not (await guard(kit, look).run(room, {})).ok
    assert (await use("terminal", command="true")).ok
    assert room.asked == []


@with_settings(**{"tools.approval": "deny"})
async def test_deny_leaves_reading(kit, room):
    assert (await guard(kit, look).run(room, {})).ok
    assert not (await guard(kit, scribble).run(room, {"text": "x"})).ok


@pytest.mark.parametrize("raw", ["perhaps", "ask, terminal=maybe", "=deny"])
def test_wrong_policy_names_the_word(raw):
    with pytest.raises(BadConfig, match="none of ask, always, deny"):
        parse_policy(raw)


async def test_guests_get_only_what_is_harmless(kit, guest):
    names = {one.name for one in build_tools(kit) if one.for_whom(guest.principal)}
    assert names == {"web_fetch", "session_search", "session_list", "skills_list", "skill_view"}
    told = await tool_of(kit, "terminal").run(guest, {"command": "true"})
    assert not told.ok
    assert "Guests may not use terminal" in told.text


@with_settings(**{"tools.guest_tools": "todo, memory"})
async def test_owner_can_give_guests_more(kit, guest):
    assert tool_of(kit, "todo").for_whom(guest.principal)
    assert (await tool_of(kit, "memory").run(guest, {"action": "list"})).ok
    assert not tool_of(kit, "write_file").for_whom(guest.principal)


async def test_slow_tool_is_stopped(kit, room, monkeypatch):
    ended = asyncio.Event()

    @tool()
    async def sleeper(at: Workspace) -> str:
        """Sleeps."""
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "never"

    monkeypatch.setattr("sojourn.tools.guard.GRACE_SECONDS", 0.05)
    room.seconds = 0.05
    told = await guard(kit, sleeper).run(room, {})
    assert not told.ok
    assert "longer than 0.05 seconds" in told.text
    assert ended.is_set()


async def test_time_a_person_takes_to_answer_is_not_counted(kit, room, monkeypatch):
    monkeypatch.setattr("sojourn.tools.guard.GRACE_SECONDS", 0.0)
    room.seconds = 0.05

    async def slowly(question):
        await asyncio.sleep(0.15)
        return Reply(choice="once")

    room.ask = slowly
    assert (await guard(kit, scribble).run(room, {"text": "x"})).ok


async def test_long_result_keeps_head_and_tail_and_says_where_the_rest_is(kit, room, use):
    text = "".join(f"line {n}\n" for n in range(10_000))
    told = await guard(kit, look).run(room, {"text": text})
    assert len(told.text) <= room.most
    assert told.text.startswith("line 0\n")
    assert told.text.endswith("line 9999\n")
    assert "characters (10000 lines in all) left out here" in told.text
    assert told.facts["characters"] == len(text)
    again = await use("read_file", path=told.facts["kept_at"], offset=5001, limit=1)
    assert "line 5000" in again.text
    assert room.asked == []


async def test_kept_results_go_with_their_session(kit, room):
    told = await guard(kit, look).run(room, {"text": "x" * 100_000})
    kept = Path(told.facts["kept_at"])
    assert kept.stat().st_mode & 0o077 == 0
    await kit.forget(room.session)
    assert not kept.exists()


async def test_only_the_newest_results_are_kept(kit, room, monkeypatch):
    monkeypatch.setattr("sojourn.tools.result_limits.MAX_KEPT_RESULTS", 3)
    for _ in range(5):
        await guard(kit, look).run(room, {"text": "x" * 100_000})
    assert len(list((kit.settings.home / "outputs" / room.session).iterdir())) == 3


async def test_secret_in_a_result_is_blacked_out_also_in_what_is_kept(kit, room):
    secret = "ghp_" + "a1B2" * 10
    told = await guard(kit, look).run(room, {"text": "x\n" * 50_000 + secret + "\n" + "y" * 50})
    assert secret not in told.text
    assert secret not in Path(told.facts["kept_at"]).read_text()
    assert "[redacted:github-token]" in told.text


async def test_colour_codes_do_not_hide_a_secret(kit, room):
    secret = "ghp_" + "a1B2" * 10
    told = await guard(kit, look).run(room, {"text": secret[:10] + "\x1b[31m" + secret[10:]})
    assert told.text == "[redacted:github-token]"


async def test_terminal_bytes_never_reach_the_model(kit, room):
    told = await guard(kit, look).run(room, {"text": "a\x1b]0;title\x07b\x07c\x1b[2Jd"})
    assert told.text == "abcd"


async def test_broken_tool_does_not_break_the_turn(kit, room, caplog):
    @tool()
    async def broken(at: Workspace) -> str:
        """Breaks."""
        raise ZeroDivisionError("by nothing")

    told = await guard(kit, broken).run(room, {})
    assert not told.ok
    assert "ZeroDivisionError: by nothing" in told.text


async def test_cancelling_passes_through(kit, room):
    @tool()
    async def sleeper(at: Workspace) -> str:
        """Sleeps."""
        await asyncio.sleep(60)
        return ""

    running = asyncio.create_task(guard(kit, sleeper).run(room, {}))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_own_question_of_a_tool_is_the_one_that_is_asked(kit, room):
    def asks(at, given):
        return Question(id="", text="Really?", detail=given["text"]) if given["text"] == "hot" else None

    @tool(effect="writes", asks=asks)
    async def touch(at: Workspace, text: str) -> ToolResult:
        """Touches."""
        return ToolResult(text=text)

    await guard(kit, touch).run(room, {"text": "cold"})
    assert room.asked == []
    await guard(kit, touch).run(room, {"text": "hot"})
    assert room.asked[0].text == "Really?"


def test_tools_of_strangers_are_guarded_too(kit):
    from sojourn.plugins import Registry, ThirdParty
    from sojourn.tools.guard import GuardedCall

    kit.registry = Registry((), lambda: [ThirdParty("stranger", "tests.integration.tools.stranger")])
    assert [isinstance(one.run, GuardedCall) for one in kit.tools()] == [True]


async def test_long_result_that_cannot_be_searched_for_secrets_is_left_out(kit, room, monkeypatch):
    monkeypatch.setattr("sojourn.tools.result_limits._CLEAN_MEMORY_BYTES", 1_000_000)  # too little for any process
    told = await guard(kit, look).run(room, {"text": "ghp_" + "a1B2" * 30_000})
    assert "a1B2" not in told.text
    assert "120004 characters were left out" in told.text
