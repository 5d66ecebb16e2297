"""The graph as a value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.tasks import decode_graph
from sojourn.core.errors import BadInput, NotFound
from sojourn.ports.store import Record
from sojourn.task_graph import (
    MAX_TASKS,
    Task,
    advance,
    build_graph,
    explain_waiting,
    is_over,
    list_ready,
    to_progress_detail,
)
from sojourn.text.codec import encode_value


def chain(*pairs):
    return build_graph([Task(id=id, title=f"do {id}", needs=tuple(needs)) for id, needs in pairs])


DIAMOND = [("a", ""), ("b", "a"), ("c", "a"), ("d", "bc")]


def test_what_needs_nothing_is_ready_and_the_rest_says_what_it_waits_for():
    graph = chain(*DIAMOND)
    assert [task.id for task in list_ready(graph)] == ["a"]
    assert explain_waiting(graph, "d") == "It waits for “do b”, “do c”."
    assert explain_waiting(graph, "a") == ""


def test_finishing_a_task_frees_the_next_ones():
    graph = advance(advance(chain(*DIAMOND), "a", "running"), "a", "done", result="42")
    assert [task.id for task in list_ready(graph)] == ["b", "c"]
    assert graph.tasks[0].result == "42"


def test_what_needs_a_failed_task_cannot_run_and_the_graph_is_over():
    graph = advance(advance(chain(("a", ""), ("b", "a")), "a", "running"), "a", "failed", why="no network")
    assert explain_waiting(graph, "b") == 'It needs "do a", which failed.'
    assert is_over(graph)
    assert not is_over(advance(graph, "a", "waiting"))


@pytest.mark.parametrize(
    "pairs", [[("a", "b"), ("b", "a")], [("a", "a")], [("a", ""), ("b", "ad"), ("c", "b"), ("d", "c")]]
)
def test_a_circle_is_refused_and_named(pairs):
    with pytest.raises(BadInput, match=r"wait for each other: .* → "):
        chain(*pairs)


def test_too_many_tasks_unknown_needs_and_twins_are_refused():
    for tasks in ([("x", "y")], [("x", ""), ("x", "")], [(f"t{n}", "") for n in range(MAX_TASKS + 1)]):
        with pytest.raises(BadInput):
            chain(*tasks)


def test_a_step_that_makes_no_sense_is_refused():
    graph = chain(*DIAMOND)
    with pytest.raises(BadInput, match="cannot run"):
        advance(graph, "d", "running")
    with pytest.raises(BadInput, match="cannot become"):
        advance(advance(graph, "a", "done"), "a", "running")
    with pytest.raises(NotFound):
        advance(graph, "nobody", "done")


def test_what_is_shown_says_for_each_task_why_it_cannot_run():
    told = to_progress_detail(advance(chain(*DIAMOND), "a", "done"))
    assert (told["done"], told["of"], told["ready"]) == (1, 4, ["b", "c"])
    assert [one["why"] for one in told["tasks"]] == ["", "", "", "It waits for “do b”, “do c”."]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_any_graph_runs_to_its_end_or_is_refused(edges):
    try:
        graph = chain(*((str(n), [str(b) for a, b in edges if a == n]) for n in range(10)))
    except BadInput:
        return
    assert decode_graph(Record(kind="tasks", key="s", value=encode_value(graph))) == graph
    for _ in range(10):
        graph = advance(advance(graph, list_ready(graph)[0].id, "running"), list_ready(graph)[0].id, "done")
    assert is_over(graph)
    assert all(task.state == "done" for task in graph.tasks)


@pytest.mark.parametrize(
    "value", [None, [], {"tasks": 3}, {"tasks": [{"id": "a"}]}, {"tasks": [{"id": "a", "title": "", "state": "odd"}]}]
)
def test_a_record_that_is_no_graph_is_ignored(value):
    assert decode_graph(Record(kind="tasks", key="s", value=value)) is None
