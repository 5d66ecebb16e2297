"""From a request to its graph, and on from there."""

from dataclasses import replace

import pytest

from sojourn.context.tasks import TaskSource, decode_graph, graph_from_request
from sojourn.core.events import Done, Progress
from sojourn.task_graph import MAX_TASKS, advance, to_progress_detail
from tests.unit.context.worlds import lease_of, request, told


def graph(said):
    made = graph_from_request(said)
    return made and {task.title: [made.tasks[int(need[1:]) - 1].title for need in task.needs] for task in made.tasks}


@pytest.mark.parametrize(
    "said",
    [
        "what is the capital of France?",
        "Fix the typo in README.md",
        "compare A and B",
        "Tell me about salt and pepper",
        "Can you look at main.py and tell me what it does?",
        "I went home and then I slept. Why am I tired?",
        "谢谢",
        "",
        "this is a story about a fox and a hen and then a dog",
        "```\n1. not\n2. a list\n```",
        "Summarise this chapter:\n1. Introduction\n2. The long road home\n3. Conclusion",
    ],
)
def test_a_simple_request_has_no_graph(said):
    assert graph_from_request(said) is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "run the tests, then fix what fails, then commit",
            {"run the tests": [], "fix what fails": ["run the tests"], "commit": ["fix what fails"]},
        ),
        ("1. read a.txt\n2. summarise it", {"read a.txt": [], "summarise it": ["read a.txt"]}),
        (
            "- write the intro\n- draw the chart\n- finally, combine both",
            {
                "write the intro": [],
                "draw the chart": [],
                "finally, combine both": ["write the intro", "draw the chart"],
            },
        ),
        (
            "for each of Berlin, Paris and Rome, find the mayor",
            {"find the mayor: Berlin": [], "find the mayor: Paris": [], "find the mayor: Rome": []},
        ),
        (
            "download the data and clean it and also write a short poem",
            {"download the data": [], "clean it": ["download the data"], "write a short poem": []},
        ),
        ("先下载数据，然后清洗，最后画图", {"下载数据": [], "清洗": ["下载数据"], "画图": ["清洗"]}),
        ("对北京、上海分别查询天气", {"查询天气: 北京": [], "查询天气: 上海": []}),
        ("一、写大纲\n二、写正文", {"写大纲": [], "写正文": ["写大纲"]}),
    ],
)
def test_a_request_of_several_steps_becomes_a_graph(said, expected):
    assert graph(said) == expected


def test_independent_steps_are_worth_working_at_once_and_a_chain_is_not():
    at_once = graph_from_request("for each of Berlin, Paris and Rome, find the mayor")
    assert (at_once.parallel, at_once.because) == (True, "3 of 3 steps need nothing from each other.")
    assert not graph_from_request("run the tests, then fix what fails").parallel
    assert not graph_from_request("add one and also tag it").parallel


def test_a_very_long_list_stays_bounded_and_names_the_rest():
    made = graph_from_request("\n".join(f"- look at file {n}" for n in range(60)))
    assert len(made.tasks) == MAX_TASKS
    assert made.tasks[-1].title.startswith("And 37 more: look at file 23; ")


async def test_the_graph_is_shown_given_and_kept_with_the_session(kit):
    session = await told(kit)
    found = await TaskSource(kit).contribute(await request(kit, session, "run the tests, then commit"))
    assert found.shown[0] == Progress("task", to_progress_detail(found.graph))
    assert found.blocks[0].kind == "tasks"
    record = await kit.store.get_record("tasks", session.id)
    assert decode_graph(record) == found.graph
    assert record.session == session.id


@pytest.mark.parametrize("word", ["continue", "ok, go on please", "Continue with the rest.", "继续", "next"])
async def test_what_was_left_is_taken_up_again(kit, word):
    session = await told(kit)
    source = TaskSource(kit)
    asked = await request(kit, session, "run the tests, then fix what fails, then commit")
    begun = (await source.contribute(asked)).graph
    half = advance(advance(advance(begun, "t1", "running"), "t1", "done"), "t2", "running")
    await kit.store.append(await lease_of(kit, session), [Progress("task", to_progress_detail(half))])
    await source.after(asked, [], "cancelled")
    found = await source.contribute(await request(kit, session, word))
    assert [task.state for task in found.graph.tasks] == ["done", "waiting", "waiting"]
    assert found.blocks[0].reason == "you asked to continue; these steps are left"


async def steps_in(kit, *log, source=None):
    """A session in which a request of two steps was followed by these events."""
    session = await told(kit)
    await (source or TaskSource(kit)).contribute(await request(kit, session, "run the tests, then commit"))
    await kit.store.append(await lease_of(kit, session), log)
    return session


async def goes_on(kit, session):
    return (await TaskSource(kit).contribute(await request(kit, session, "continue"))).graph


async def test_a_runtime_that_answered_in_one_go_leaves_nothing_to_continue(kit):
    source = TaskSource(kit)
    session = await steps_in(kit, Done(status="completed"), source=source)
    await source.after(await request(kit, session, "run the tests, then commit"), [], "completed")
    kept = decode_graph(await kit.store.get_record("tasks", session.id))
    assert {task.state for task in kept.tasks} == {"done"}
    assert await goes_on(kit, session) is None


@pytest.mark.parametrize("log", [[], [Done(status="failed")], [Done(status="cancelled"), Done(status="completed")]])
async def test_a_turn_that_was_cut_short_leaves_everything_to_continue(kit, log):
    session = await steps_in(kit, *log)
    assert [task.state for task in (await goes_on(kit, session)).tasks] == ["waiting", "waiting"]


async def test_another_simple_request_leaves_the_graph_alone(kit):
    session = await steps_in(kit, Done(status="failed"))
    assert (await TaskSource(kit).contribute(await request(kit, session, "what time is it?"))).graph is None
    assert await goes_on(kit, session) is not None


async def test_what_failed_is_tried_again_though_the_turn_was_completed(kit):
    session = await told(kit)
    begun = (await TaskSource(kit).contribute(await request(kit, session, "run the tests, then commit"))).graph
    broken = advance(advance(begun, "t1", "running"), "t1", "failed", why="no network")
    await kit.store.append(
        await lease_of(kit, session), [Progress("task", to_progress_detail(broken)), Done(status="completed")]
    )
    assert [task.state for task in (await goes_on(kit, session)).tasks] == ["waiting", "waiting"]


async def test_a_record_of_another_make_is_no_graph(kit):
    session = await told(kit)
    source = TaskSource(kit)
    await source.contribute(await request(kit, session, "run the tests, then commit"))
    record = await kit.store.get_record("tasks", session.id)
    await kit.store.put_record(replace(record, value={"tasks": "odd"}))
    assert (await source.contribute(await request(kit, session, "continue"))).graph is None
