"""Templates from plain Python, on our own store and on a Hermes home."""

import asyncio
import json

import pytest

from sojourn.core.errors import BadInput, Conflict, SourceUnreadable
from sojourn.core.messages import user
from sojourn.templates import session_templates
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.session_templates import SessionTemplates
from tests.unit.templates.worlds import BAD, GOOD, did, fill, hermes

ID = "20260102_030405_1a2b3c4d"
WORKED = [user("list the files"), *did("terminal", {"command": "ls"}), *did("terminal", {"command": "cat x"}, BAD)]


@pytest.fixture
def ours(tmp_path):
    fill(
        tmp_path, {ID: WORKED, "20260102_030405_ffffffff": [user("hi"), *did("patch", {}, BAD)], "empty": [user("hi")]}
    )
    found = SessionTemplates(tmp_path / "session-templates")
    yield found
    found.close()


def test_a_template_is_made_of_what_worked_and_found_again(ours):
    made = ours.create_template(ID)
    assert made.name.startswith("terminal_1a2b3c4d_")
    assert made.examples == [ToolCallExample("terminal", {"command": "ls"}, GOOD)]
    assert (made.task_type, made.source_session_id, made.usage_count) == (TaskType.TERMINAL, ID, 0)
    assert [one.to_dict() for one in ours.list_templates()] == [made.to_dict()]
    assert ours.list_templates("terminal") == ours.list_templates(TaskType.TERMINAL) == ours.list_templates()
    assert ours.list_templates("code") == []


def test_name_type_and_number_of_examples_can_be_chosen(ours):
    made = ours.create_template(ID, "mine", "research", 1)
    assert (made.name, made.task_type, made.description) == ("mine", TaskType.RESEARCH, "Template with 1 examples")
    with pytest.raises(Conflict):
        ours.create_template(ID, "mine")


def test_two_made_in_the_same_second_get_two_names(ours):
    assert len({ours.create_template(ID).name for _ in range(3)}) == 3


@pytest.mark.parametrize("session", ["20260102_030405_ffffffff", "empty", "20260102", "nobody", ""])
def test_where_there_is_nothing_there_is_no_template(ours, session):
    assert ours.extract_from_session(session) == []
    assert ours.create_template(session) is None
    assert ours.list_templates() == []


def test_a_session_is_known_by_a_unique_beginning(ours):
    assert ours.extract_from_session(ID[:-4]) == ours.extract_from_session(ID) != []


def test_the_list_of_messages_that_is_given_is_changed_and_returned(ours):
    system, said = {"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}
    messages = [system, said]
    assert ours.inject_into_messages(ours.create_template(ID), messages) is messages
    assert messages[0] is system
    assert messages[-1] is said
    assert [one["role"] for one in messages] == ["system", "system", "assistant", "tool", "user"]


def test_all_templates_stand_under_their_names(ours, tmp_path):
    made = ours.create_template(ID, "mine")
    assert {name: one.to_dict() for name, one in ours.templates.items()} == {"mine": made.to_dict()}
    assert ours.template_dir == tmp_path / "session-templates"


def test_without_arguments_templates_of_hermes_are_found_and_never_written(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    fill(home, {ID: WORKED})
    theirs = SessionTemplates(tmp_path / "hermes" / "session-templates", home=home)
    theirs.create_template(ID, "theirs")
    theirs.create_template(ID, "both", max_examples=1)
    theirs.close()
    before = {file: file.read_bytes() for file in (tmp_path / "hermes").rglob("*") if file.is_file()}
    found = SessionTemplates()
    found.create_template(ID, "both")
    used = found.templates["theirs"]
    found.inject_into_messages(used, [])
    assert (sorted(found.templates), used.usage_count) == (["both", "theirs"], 1)
    assert found.get_template("terminal").name in ("both", "theirs")
    assert (found.delete_template("theirs"), found.delete_template("both")) == (False, True)
    assert found.template_dir == home / "session-templates"
    found.close()
    assert {file: file.read_bytes() for file in (tmp_path / "hermes").rglob("*") if file.is_file()} == before


def test_the_module_names_its_folder_and_has_a_command_line(home, capsys):
    fill(home, {ID: WORKED})
    assert session_templates.DEFAULT_TEMPLATE_DIR.name == "session-templates"
    assert session_templates.DEFAULT_TEMPLATE_DIR == SessionTemplates.DEFAULT_TEMPLATE_DIR
    for words, code in (["create", ID, "--name", "mine"], 0), (["list"], 0), (["delete", "nobody"], 1):
        assert session_templates.main(words) == code
    assert "mine" in capsys.readouterr().out


def test_using_a_template_counts_and_the_less_used_comes_next(ours):
    first, second = ours.create_template(ID, "first"), ours.create_template(ID, "second")
    ours.inject_into_messages(second, [{"role": "user", "content": "hi"}])
    assert (second.usage_count, first.usage_count) == (1, 0)
    assert ours.get_template("terminal").name == "first"
    for _ in range(2):
        ours.inject_into_messages(first, [])
    assert ours.get_template("terminal").name == "second"
    assert ours.get_template("code") is None


def test_a_template_without_examples_is_not_counted_as_used(ours):
    made = ours.create_template(ID, "none", max_examples=1)
    made.examples.clear()
    assert ours.inject_into_messages(made, [{"role": "user", "content": "hi"}]) == [{"role": "user", "content": "hi"}]
    assert made.usage_count == ours.list_templates()[0].usage_count == 0


def test_one_that_was_never_kept_counts_for_itself_whatever_it_is_called(ours):
    mine = SessionTemplate("a/b: mine", TaskType.CODE, [ToolCallExample("execute_code", {}, "1")])
    assert len(ours.inject_into_messages(mine, [])) == 3
    assert mine.usage_count == 1


def test_a_template_of_no_examples_is_not_asked_for(ours):
    with pytest.raises(BadInput, match="cannot have 0 examples"):
        ours.create_template(ID, max_examples=0)


def test_deleting_says_whether_it_was_there(ours):
    ours.create_template(ID, "a")
    assert (ours.delete_template("a"), ours.delete_template("a")) == (True, False)


def test_what_cannot_be_read_is_reported_by_name(ours, tmp_path):
    ours.create_template(ID, "good")
    (tmp_path / "session-templates" / "bad.json").write_text("{")
    assert [one.name for one in ours.list_templates()] == ["good"]
    assert [one.name for one in ours.unreadable] == ["bad"]


def test_a_type_can_be_told_of_a_session_calls_or_messages(ours):
    call = {"function": {"name": "execute_code"}}
    assert ours.classify_task_type(ID) is ours.classify_task_type(ID, turns=30) is TaskType.TERMINAL
    for given in (["execute_code"], [call], [{"name": "execute_code"}], [{"role": "assistant", "tool_calls": [call]}]):
        assert ours.classify_task_type(given) is TaskType.CODE
    stored = [{"role": "assistant", "tool_calls": json.dumps([call])}, {"role": "assistant", "tool_calls": "torn["}]
    assert ours.classify_task_type(stored) is TaskType.CODE
    late = [{"role": "user"}, {"role": "assistant", "tool_calls": [call]}, {"role": "user"}, {"name": "terminal"}]
    assert ours.classify_task_type(late, turns=1) is ours.classify_task_type(late, 1) is TaskType.CODE
    assert ours.classify_task_type([]) is TaskType.MIXED


async def test_it_works_where_a_loop_is_running(ours):
    assert await asyncio.sleep(0, ours.create_template(ID, "inside").name) == "inside"


def test_a_hermes_home_is_read_in_row_order_without_a_trace(tmp_path):
    shaped = [{"id": f"c{n}", "function": {"name": "terminal", "arguments": f'{{"command": "{n}"}}'}} for n in range(3)]
    rows = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": json.dumps(shaped)},
        {"role": "tool", "tool_call_id": "c2", "tool_name": "terminal", "content": GOOD},
        {
            "role": "tool",
            "tool_call_id": "c0",
            "tool_name": "terminal",
            "content": '\0json:[{"type":"text","text":"zero"}]',
        },
        {"role": "tool", "tool_call_id": "c1", "content": GOOD, "effect_disposition": "unknown"},
        {"role": "assistant", "tool_calls": json.dumps([{"name": "patch", "arguments": "{}"}]), "active": 0},
        {"role": "tool", "tool_name": "patch", "content": "ok", "active": 0},
    ]
    home = hermes(tmp_path / "hermes", {"20260101_000000_abcdef": rows})
    before = sorted((one.name, one.stat().st_size) for one in home.iterdir())
    templates = SessionTemplates(tmp_path / "mine", home=home)
    found = templates.extract_from_session("20260101_000000_abcdef")
    assert [(one.arguments["command"], one.result) for one in found] == [("0", "zero"), ("2", GOOD)]
    templates.create_template("20260101_000000_abcdef", "from hermes")
    templates.close()
    assert sorted((one.name, one.stat().st_size) for one in home.iterdir()) == before


def test_a_template_dir_inside_a_hermes_home_reads_that_home(tmp_path):
    calls = json.dumps([{"name": "terminal", "arguments": {"command": "ls"}}])
    rows = [{"role": "assistant", "tool_calls": calls}, {"role": "tool", "content": GOOD}]
    templates = SessionTemplates(hermes(tmp_path, {"s": rows}) / "session-templates")
    assert [dict(one.arguments) for one in templates.extract_from_session("s")] == [{"command": "ls"}]
    templates.close()


def test_without_arguments_the_program_s_own_home_is_used(home):
    fill(home, {ID: WORKED})
    templates = SessionTemplates()
    templates.create_template(ID, "own")
    templates.close()
    assert (home / "session-templates" / "own.json").exists()


def test_a_template_dir_that_lies_in_no_home_is_for_the_program_s_sessions(home, tmp_path):
    fill(home, {ID: WORKED})
    templates = SessionTemplates(str(tmp_path / "else" / "where"))
    assert templates.create_template(ID, "own").examples
    templates.close()
    assert (tmp_path / "else" / "where" / "own.json").exists()
    assert not (home / "session-templates").exists()


def test_no_history_and_no_database_are_told_apart(tmp_path):
    assert SessionTemplates(tmp_path / "a" / "b", home=tmp_path / "a").extract_from_session("x") == []
    (tmp_path / "state.db").write_text("no database at all, but long enough to be looked at" * 20)
    with pytest.raises(SourceUnreadable):
        SessionTemplates(tmp_path / "t").extract_from_session("x")
    with pytest.raises(BadInput):
        SessionTemplates(tmp_path / "t").list_templates("dance")
