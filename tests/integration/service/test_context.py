"""Preparing a turn: the order of the stages, and bounds on what sources may do."""

import asyncio

import pytest

from sojourn.core.errors import StoreUnavailable
from sojourn.core.events import Progress
from sojourn.core.messages import ToolCall, assistant, tool_result
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest
from sojourn.task_graph import Task, TaskGraph
from sojourn.templates.service import TOKENS
from sojourn.testing.scripted_runtime import Fail, SayText, ScriptedRuntime
from sojourn.testing.service_steps import GUEST, ended, opened, stages, talk
from sojourn.testing.turn_runner import make_tool
from sojourn.turn_support import context_gatherer


def block(title: str, tokens: int = 10, kind: str = "fact") -> ContextBlock:
    return ContextBlock(kind=kind, title=title, text=title, origin="a test", reason="to see it", tokens=tokens)


class Source:
    def __init__(self, name, stage, given=None, wait=None, error=None) -> None:
        self.name, self.stage, self.given, self.wait, self.error = (
            name,
            stage,
            given or ContextContribution(),
            wait,
            error,
        )
        self.asked: list = []
        self.learned: list = []

    async def contribute(self, request):
        self.asked.append(request)
        if self.wait:
            await self.wait.wait()
        if self.error:
            raise self.error
        return self.given

    async def after(self, request, kept, status):
        self.learned.append(([one.content for one in kept], status))


async def test_sources_are_asked_stage_by_stage_and_shown_as_they_answer(serve, runtime):
    graph = TaskGraph(tasks=(Task(id="1", title="Look"),))
    given = {
        "tasks": ContextContribution(graph=graph, shown=(Progress("task", {"tasks": []}),)),
        "memory": ContextContribution(blocks=(block("you like tea"),), shown=(Progress("memory", {"title": "tea"}),)),
        "template": ContextContribution(shown=(Progress("template", {"name": "t"}),)),
        "skills": ContextContribution(blocks=(block("brewing", kind="skill"),)),
    }
    service = serve(context=[Source(stage, stage, one) for stage, one in given.items()])
    kept = await talk(service, await opened(service), "hello")
    order = [one.item.stage for one in kept if isinstance(one.item, Progress)]
    assert order == ["memory", "template", "task", "prepare", "running"]
    told = runtime.seen[-1]
    assert ([one.title for one in told.blocks], told.graph) == (["you like tea", "brewing"], graph)
    assert stages(kept, "prepare")[0]["tokens"] == 20


async def test_a_source_that_fails_is_shown_and_the_turn_goes_on(serve, runtime, caplog):
    broken = [
        Source("ours", "memory", error=StoreUnavailable("The notes are away.")),
        Source("theirs", "skills", error=ZeroDivisionError("by zero")),
    ]
    service = serve(context=[*broken, Source("good", "memory", ContextContribution(blocks=(block("tea"),)))])
    kept = await talk(service, await opened(service), "hello")
    problems = {one["source"]: one["problem"] for one in stages(kept, "prepare") if "problem" in one}
    assert problems == {"ours": "The notes are away.", "theirs": "ZeroDivisionError: by zero"}
    assert (ended(kept), [one.title for one in runtime.seen[-1].blocks]) == (("completed", []), ["tea"])


async def test_a_slow_source_is_left_behind(serve, runtime, monkeypatch):
    monkeypatch.setattr(context_gatherer, "FIRST_SECONDS", 0.01)
    service = serve(context=[Source("slow", "memory", wait=asyncio.Event())])
    kept = await talk(service, await opened(service), "hello")
    [problem] = [one for one in stages(kept, "prepare") if "problem" in one]
    assert (problem["source"], ended(kept)) == ("slow", ("completed", []))


async def test_what_a_source_loads_when_first_asked_does_not_count(serve, runtime, monkeypatch):
    monkeypatch.setattr(context_gatherer, "SOURCE_SECONDS", 0.01)
    is_loaded = asyncio.Event()
    service = serve(
        context=[Source("slow", "memory", ContextContribution(blocks=(block("small", 100),)), wait=is_loaded)]
    )
    asyncio.get_running_loop().call_later(0.1, is_loaded.set)
    session = await opened(service)
    await talk(service, session, "hello")
    assert [one.title for one in runtime.seen[-1].blocks] == ["small"]
    is_loaded.clear()
    kept = await talk(service, session, "and now?")
    assert [one["source"] for one in stages(kept, "prepare") if "problem" in one] == ["slow"]


async def test_what_does_not_fit_is_named(serve, runtime):
    given = ContextContribution(blocks=(block("small", 100), block("huge", 5000), block("last", 100)))
    service = serve(context=[Source("memory", "memory", given)])
    kept = await talk(service, await opened(service), "hello")
    assert [one.title for one in runtime.seen[-1].blocks] == ["small", "last"]
    [left] = stages(kept, "prepare")[-1]["left_out"]
    assert left.startswith("huge")


async def test_what_is_not_wanted_is_not_asked(serve):
    memory = Source("memory", "memory")
    service = serve(context=[memory])
    await talk(service, await opened(service), "one", drop=("memory",))
    assert memory.asked == []


async def test_a_library_is_told_that_no_template_is_wanted_and_brings_none(serve, runtime):
    brought = ContextContribution(examples=(assistant("an example"),), shown=(Progress("template", {"name": "t"}),))
    library = Source("library", "template", brought)
    service = serve(context=[library])
    session = await opened(service)
    kept = await talk(service, session, "one", template="none")
    assert (stages(kept, "template"), runtime.seen[-1].examples) == ([], ())
    await talk(service, session, "two", template="weekly")
    assert [one.template for one in library.asked] == ["none", "weekly"]
    assert runtime.seen[-1].examples == brought.examples


@pytest.mark.parametrize("takes", [True, False])
async def test_examples_come_as_messages_or_as_words(serve, runtime, takes):
    runtime.takes_tool_history = takes
    call = ToolCall(id="x", name="search", arguments='{"q": "tea"}')
    examples = (assistant(None, [call]), tool_result(call, "found"))
    service = serve(context=[Source("library", "template", ContextContribution(examples=examples))])
    await talk(service, await opened(service), "hello")
    told = runtime.seen[-1]
    assert told.examples == (examples if takes else ())
    assert [("found" in one.text, "search" in one.text) for one in told.blocks] == ([] if takes else [(True, True)])


async def test_sources_learn_from_a_turn_when_it_is_over(serve, runtime):
    good, bad = Source("good", "memory"), Source("bad", "memory")
    bad.after = Fail(ZeroDivisionError()).error  # not even a function
    service = serve(context=[bad, good])
    session = await opened(service)
    runtime.on("break", SayText("well", kept=False), Fail(ZeroDivisionError()))
    for text in ("hello", "break"):
        await talk(service, session, text)
        await service.settle()
    assert good.learned == [(["hello", "hello"], "completed"), (["break", "well"], "failed")]


async def test_a_guest_gets_only_tools_for_guests(serve, runtime):
    async def run(at, given):
        raise AssertionError

    service = serve(tools=[make_tool("terminal", run), make_tool("look", run)])
    await talk(service, await opened(service), "hello")
    assert [one.name for one in runtime.seen[-1].tools] == ["terminal", "look"]
    await talk(service, await opened(service, GUEST), "hello", by=GUEST)
    assert runtime.seen[-1].tools == ()


async def test_a_runtime_that_brings_its_own_tools_is_not_taken_to_have_ours(serve, runtime):
    async def run(at, given):
        raise AssertionError

    look = Source("library", "template")
    service = serve(tools=[make_tool("look", run)], context=[look])
    await talk(service, await opened(service), "hello")
    runtime.brings_tools = True
    await talk(service, await opened(service), "hello")
    assert [one.tools for one in look.asked] == [("look",), ()]


def test_what_a_preview_has_room_for_is_what_a_turn_has_room_for():
    assert ContextRequest(session=Session(id=SessionId("s")), said="").budget == TOKENS


async def test_the_prepared_context_is_the_same_for_every_runtime(serve, runtime):
    other = ScriptedRuntime("other")
    service = serve(
        context=[Source("memory", "memory", ContextContribution(blocks=(block("tea"),)))], runtimes=[runtime, other]
    )
    session = await opened(service)
    await talk(service, session, "hello")
    await talk(service, session, "hello", runtime="other")
    assert runtime.seen[-1].blocks == other.seen[-1].blocks != ()
