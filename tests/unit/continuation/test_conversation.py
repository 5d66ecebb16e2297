"""What another program is given: each call once, with one result, under the names that it knows."""

import json
from dataclasses import replace

import pytest

from sojourn.continuation.conversation import NO_RESULT, adapt_calls, list_entries
from sojourn.continuation.tool_names import translate_call
from sojourn.core.messages import ToolCall, assistant, tool_result, user


def call(id, name="Bash", **arguments):
    return ToolCall(id=id, name=name, arguments=json.dumps(arguments))


def results(entries):
    return [(one.id, one.result) for entry in entries for one in entry.calls]


def test_a_result_stands_with_its_call_wherever_it_was_stored():
    one, two = call("a"), call("b")
    messages = [assistant(None, [one, two]), user("meanwhile"), tool_result(two, "2"), tool_result(one, "1")]
    assert results(list_entries(messages)) == [("a", "1"), ("b", "2")]


def test_a_call_without_a_result_gets_one_that_says_so():
    assert results(list_entries([assistant(None, [call("a")]), user("never mind")])) == [("a", NO_RESULT)]


def test_repeated_and_forbidden_ids_of_calls_become_unique_and_plain():
    messages = [one for number in "12" for one in (assistant(None, [call("same")]), tool_result(call("same"), number))]
    messages += [assistant(None, [call("a:b/c")]), tool_result(call("a:b/c"), "3")]
    assert results(list_entries(messages)) == [("same", "1"), ("call_2", "2"), ("call_3", "3")]


def test_a_result_whose_call_was_lost_is_not():
    (entry,) = list_entries([tool_result(call("gone", "Bash"), "42 files")])
    assert "42 files" in entry.text
    assert not entry.is_user


def test_what_was_taken_back_and_what_programs_wrote_themselves_stays_here():
    undone = replace(user("undone"), active=False)
    notice = replace(user("notice"), extra='{"internal": true}')
    system = replace(user("reminder"), role="system")
    assert [one.text for one in list_entries([undone, notice, system, user("said")])] == ["said"]


def test_what_a_summary_replaced_is_there_and_what_it_kept_is_not_doubled():
    old = [replace(user(text), active=False, compacted=True) for text in ("a", "b")]
    assert [one.text for one in list_entries([*old, user("b"), user("c")])] == ["a", "b", "c"]


@pytest.mark.parametrize("program", ["claude", "codex", "opencode", "gemini", "qwen", "pi", "hermes"])
@pytest.mark.parametrize("arguments", [{"command": "ls -l"}, {"cmd": "ls -l"}, {"command": ["bash", "-lc", "ls -l"]}])
def test_a_shell_is_called_as_each_program_calls_it(program, arguments):
    name, found = translate_call("exec_command" if "cmd" in arguments else "Bash", arguments, program)
    shells = {"claude": "Bash", "codex": "exec_command", "opencode": "bash", "pi": "bash", "hermes": "terminal"}
    assert name == shells.get(program, "run_shell_command")
    assert found == {"cmd" if program == "codex" else "command": "ls -l"}


def test_an_edit_has_the_arguments_of_the_program():
    given = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}
    assert translate_call("Edit", given, "opencode") == (
        "edit",
        {"filePath": "/w/a.py", "oldString": "a", "newString": "b"},
    )
    assert translate_call("edit", {"filePath": "/w/a.py"}, "pi") == ("edit", {"path": "/w/a.py"})


def test_an_unknown_tool_keeps_its_name_as_far_as_models_allow():
    entries = list_entries([assistant(None, [call("a", "mcp/files.read", q=1)])])
    adapt_calls(entries, "claude", ("", ""))
    assert (entries[0].calls[0].name, entries[0].calls[0].arguments) == ("mcp_files_read", {"q": 1})


def test_paths_move_with_the_folder_and_others_stay():
    given = {"path": "/old/a.py", "more": ["/old", "/older/b", "see /old/c"], "n": 3}
    entries = list_entries([assistant(None, [call("a", "look", **given)])])
    adapt_calls(entries, "claude", ("/old", "/new"))
    assert entries[0].calls[0].arguments == {"path": "/new/a.py", "more": ["/new", "/older/b", "see /old/c"], "n": 3}


@pytest.mark.parametrize("arguments", ["", "no json", "[1]", "[" * 100_000])
def test_arguments_that_are_no_object_become_one(arguments):
    (entry,) = list_entries([assistant(None, [ToolCall(id="a", name="x", arguments=arguments)])])
    assert isinstance(entry.calls[0].arguments, dict)
