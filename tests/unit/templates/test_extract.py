"""Calls and answers put together, and the calls worth showing again."""

import json
import time
from dataclasses import replace

import pytest

from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.runtimes.reported_calls import to_call_messages
from sojourn.templates.extract import judge_conversation, select_examples, task_type_of
from sojourn.templates.model import TaskType
from sojourn.templates.tool_calls import build_conversation
from sojourn.text.template_examples import mark_as_example
from tests.unit.templates.worlds import BAD, GOOD, did, ran, rows


def talk(*messages):
    return build_conversation(rows(*messages))


def test_parallel_calls_answered_out_of_order_keep_their_own_answers():
    calls = [ToolCall(id=f"c{n}", name="read_file", arguments=json.dumps({"path": f"{n}.txt"})) for n in range(4)]
    answers = [tool_result(calls[n], json.dumps({"content": f"text {n}"})) for n in (2, 0, 3, 1)]
    found = select_examples(talk(user("go"), assistant("", calls), *answers))
    assert [(one.arguments["path"], json.loads(one.result)["content"]) for one in found] == [
        (f"{n}.txt", f"text {n}") for n in range(4)
    ]


def test_an_answer_that_comes_after_later_calls_still_belongs_to_its_own():
    slow, quick = ToolCall(id="slow", name="terminal"), ToolCall(id="quick", name="terminal")
    messages = [assistant("", [slow]), assistant("", [quick]), tool_result(quick, "q"), tool_result(slow, "s")]
    assert [one.result for one in select_examples(talk(*messages))] == ["s", "q"]


def test_the_reduced_shape_without_ids_is_paired_by_name_and_order():
    asked = Message(role="assistant", tool_calls=json.dumps([{"name": "a", "arguments": {"x": 1}}, {"name": "b"}]))
    answers = [Message(role="tool", tool_name="b", content="B"), Message(role="tool", tool_name="a", content="A")]
    found = select_examples(talk(asked, *answers))
    assert [(one.tool_name, dict(one.arguments), one.result) for one in found] == [("a", {"x": 1}, "A"), ("b", {}, "B")]


def test_an_id_used_twice_means_the_call_that_is_open():
    first, second = (did("terminal", {"command": n}, f"r{n}", id="call_0") for n in ("1", "2"))
    assert [one.result for one in select_examples(talk(*first, *second))] == ["r1", "r2"]


@pytest.mark.parametrize("arguments", ["{broken", "", "[1, 2]", "7", '"text"', "null", "{" * 5000])
def test_arguments_that_are_no_json_object_become_empty(arguments):
    [found] = select_examples(talk(*did("terminal", arguments, "fine")))
    assert found.arguments == {}


def test_calls_without_a_name_are_skipped_and_the_others_stay():
    raw = [{"id": "1", "function": {"arguments": "{}"}}, {"id": "2", "function": {"name": "terminal"}}, "x", None]
    messages = [
        Message(role="assistant", tool_calls=json.dumps(raw)),
        Message(role="tool", tool_call_id="2", content="ok"),
    ]
    assert [one.tool_name for one in select_examples(talk(*messages))] == ["terminal"]


def test_tool_calls_that_are_no_json_are_no_calls():
    assert (
        select_examples(talk(Message(role="assistant", tool_calls="{nonsense"), Message(role="tool", content="x")))
        == []
    )


def test_undone_rows_are_not_there():
    gone = [replace(one, active=False) for one in did("terminal", {"command": "a"})]
    assert select_examples(talk(*gone, *did("patch", {"path": "b"}))) == select_examples(
        talk(*did("patch", {"path": "b"}))
    )


def test_only_calls_that_worked_become_examples_and_ten_at_most():
    messages = [one for n in range(30) for one in did("terminal", {"n": n}, BAD if n % 2 else GOOD, id=f"c{n}")]
    found = select_examples(talk(*messages))
    assert [one.arguments["n"] for one in found] == list(range(0, 20, 2))
    assert all(one.success for one in found)
    assert len(select_examples(talk(*messages), 3)) == 3
    assert select_examples(talk(*messages), 0) == []


def test_a_call_that_was_never_answered_did_not_work():
    [verdict] = judge_conversation(talk(assistant("", [ToolCall(id="1", name="terminal")])))
    assert (verdict.success, verdict.because) == (False, "it was never answered")


@pytest.mark.parametrize(
    "back",
    [
        ran("git checkout -- src/a.py"),
        ran("git restore src/a.py"),
        ran("rm src/a.py"),
        ran("rm -rf src/"),
        ran("git reset --hard HEAD"),
        did("delete_file", {"path": "src/a.py"}, '{"ok": true}'),
        [user("undo that please")],
        [user("撤销刚才的修改")],
        [user("That broke the build. Can you undo it?")],
        [user("I don't like it, revert your changes")],
        [user("不对，撤销刚才的修改")],
        [user("改回去吧")],
    ],
)
def test_work_that_was_taken_back_is_no_example(back):
    wrote = did("write_file", {"path": "src/a.py", "content": "x"}, '{"bytes_written": 1}')
    verdicts = judge_conversation(talk(user("write it"), *wrote, *back))
    assert (verdicts[0].success, verdicts[0].because) == (False, "it was undone later")


def test_a_patch_and_its_opposite_are_both_no_examples():
    there = did("patch", {"path": "a", "old_string": "x", "new_string": "y"}, '{"success": true}', id="1")
    back = did("Edit", {"file_path": "a", "old_string": "y", "new_string": "x"}, "updated", id="2")
    other = did("patch", {"path": "b", "old_string": "x", "new_string": "y"}, '{"success": true}', id="3")
    assert [one.success for one in judge_conversation(talk(*there, *back, *other))] == [False, False, True]


def test_a_command_that_was_taken_back_is_no_example_but_what_only_looked_is():
    made = [*ran("ls src 2>&1", id="1"), *ran("sed -i s/a/b/ src/a.py", id="2"), *ran("cat a > b", id="4")]
    verdicts = judge_conversation(
        talk(user("rename it"), *made, user("no, undo that"), *ran("sed -i s/b/a/ src/a.py", id="3"))
    )
    assert [one.success for one in verdicts] == [True, False, False, True]


def test_our_own_patches_and_their_opposites_are_known_too():
    there = did("patch", {"path": "a", "old": "x", "new": "y"}, "Changed a.", id="1")
    back = did("patch", {"path": "a", "old": "y", "new": "x"}, "Changed a.", id="2")
    assert [one.success for one in judge_conversation(talk(*there, *back))] == [False, False]


@pytest.mark.parametrize(
    "later",
    [
        [user("good, don't undo it")],
        [user("explain how undo works")],
        [user("别撤销刚才的修改")],
        ran("rm other.py"),
        ran("git checkout main"),
        [user("undo the login bug in auth.py " * 9)],
    ],
)
def test_what_touches_something_else_takes_nothing_back(later):
    wrote = did("write_file", {"path": "src/a.py", "content": "x"}, '{"bytes_written": 1}')
    assert judge_conversation(talk(user("write it"), *wrote, *later))[0].success


def test_injected_examples_are_never_examples_again_by_either_mark():
    by_id = did("terminal", {"command": "a"}, id="template_0") + did("terminal", {"command": "b"}, id="template_3_2")
    by_extra = [mark_as_example(one, "t") for one in did("terminal", {"command": "c"}, id="call_9")]
    real = did("terminal", {"command": "d"}, id="template_engine")
    assert [one.arguments["command"] for one in select_examples(talk(user("go"), *by_id, *by_extra, *real))] == ["d"]


def test_calls_that_an_agent_reported_by_their_title_alone_are_no_examples():
    reported = [
        {"call_id": "1", "tool": "edit", "preview": "Edit a.py", "result": "fine"},
        {"call_id": "2", "tool": "execute", "preview": "ls", "arguments": {"command": "ls"}, "result": "a.py"},
    ]
    named = did("create_issue", {"title": "x", "body": "y"}) + did("titles", {"titles": "x"}, id="4")
    found = select_examples(talk(user("go"), *to_call_messages(reported), *named))
    assert [one.tool_name for one in found] == ["execute", "create_issue", "titles"]


def test_the_answer_of_a_call_that_is_left_out_goes_to_no_other():
    asked = [{"name": "edit", "arguments": {"title": "Edit a.py"}}, {"name": "edit", "arguments": {"path": "b.py"}}]
    answers = [Message(role="tool", tool_name="edit", content=text) for text in ("A", "B")]
    found = select_examples(talk(Message(role="assistant", tool_calls=json.dumps(asked)), *answers))
    assert [(one.arguments["path"], one.result) for one in found] == [("b.py", "B")]


def test_structured_answers_are_read_as_text():
    call = ToolCall(id="1", name="browser_navigate")
    parts = json.dumps([{"type": "text", "text": "a page"}, {"type": "image"}])
    answer = replace(tool_result(call, parts), structured=True)
    assert [one.result for one in select_examples(talk(assistant("", [call]), answer))] == ["a page\n[image]"]


def test_the_type_can_be_told_from_the_first_thirty_turns():
    early = [one for n in range(30) for one in [user("go"), *did("terminal", {"n": n})]]
    late = [one for n in range(300) for one in [user("go"), *did("patch", {"n": n})]]
    assert task_type_of(talk(*early, *late)) is TaskType.FILE
    assert task_type_of(talk(*early, *late), turns=30) is TaskType.TERMINAL


def test_a_session_with_ten_thousand_calls_is_read_in_a_moment():
    good = '{"bytes_written": 1}'
    wrote = [one for n in range(5000) for one in did("write_file", {"path": f"{n}.py"}, good, id=f"w{n}")]
    removed = [one for n in range(5000) for one in ran(f"rm {n}.py", id=f"r{n}")]
    began = time.process_time()
    found = judge_conversation(talk(user("go"), *wrote, *removed))
    assert time.process_time() - began < 5
    assert [one.success for one in found] == [False] * 5000 + [True] * 5000
