"""What a session is about, told by its tools; names of other programs are the same tools."""

import json
from importlib.resources import files

import pytest

from sojourn.templates.model import TaskType
from sojourn.templates.tool_names import classify, family, find_equivalent, kind, rename_arguments

FAMILIES = {
    TaskType.CODE: ["execute_code", "code_execution"],
    TaskType.FILE: ["read_file", "write_file", "patch", "search_files"],
    TaskType.RESEARCH: ["web_search", "web_fetch", "browser_navigate"],
    TaskType.TERMINAL: ["terminal", "execute_terminal"],
}


@pytest.mark.parametrize(("expected", "names"), FAMILIES.items())
def test_every_tool_of_a_family_makes_its_type(expected, names):
    assert [family(name) for name in names] == [expected] * len(names)
    assert classify(names) is expected


def test_no_calls_are_mixed():
    assert classify([]) is TaskType.MIXED


@pytest.mark.parametrize(
    ("terminal", "others", "expected"),
    [(6, 4, TaskType.MIXED), (61, 39, TaskType.TERMINAL), (3, 2, TaskType.MIXED), (5, 3, TaskType.TERMINAL)],
)
def test_a_family_dominates_only_above_sixty_percent(terminal, others, expected):
    assert classify(["terminal"] * terminal + ["todo"] * others) is expected


def test_unknown_tools_count_as_calls_of_no_family():
    assert classify(["execute_code", "dance", "sing"]) is TaskType.MIXED


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Bash", "Bash", "Read"], TaskType.TERMINAL),
        (["Read", "Edit", "Grep", "Bash"], TaskType.FILE),
        (["shell", "exec_command", "apply_patch"], TaskType.TERMINAL),
        (["WebSearch", "WebFetch"], TaskType.RESEARCH),
    ],
)
def test_sessions_of_claude_code_and_codex_are_classified_too(names, expected):
    assert classify(names) is expected


def test_the_mapping_is_data_and_every_name_means_one_tool():
    table = json.loads(files("sojourn.templates").joinpath("tool_names.json").read_text())
    names = [name for others in table["same"].values() for name in others]
    assert len(names) == len(set(names))
    assert kind("mcp__files__read_file") == "read_file"


def test_a_tool_a_session_lacks_is_mapped_to_one_that_does_the_same():
    assert find_equivalent("terminal", ["Read", "Bash"]) == "Bash"
    assert find_equivalent("Bash", ["terminal", "patch"]) == "terminal"
    assert find_equivalent("terminal", ["Read"]) is None
    assert rename_arguments({"path": "a", "content": "b"}, "write_file", "Write") == {"file_path": "a", "content": "b"}
    assert rename_arguments({"file_path": "a"}, "Read", "read_file") == {"path": "a"}
