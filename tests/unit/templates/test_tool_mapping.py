"""Calls of other programs in the words of our tools."""

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.plugins import Registry
from sojourn.templates import tool_names as names
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.tool_translation import adapt_tools, translate_arguments


@pytest.mark.parametrize(
    ("tool", "given", "target", "expected"),
    [
        ("shell", {"command": ["bash", "-lc", "pytest -q"], "timeout_ms": 9}, "terminal", {"command": "pytest -q"}),
        ("local_shell", {"type": "exec", "command": ["ls", "-l"]}, "terminal", {"command": "ls -l"}),
        ("exec_command", {"cmd": "ls", "yield_time_ms": 1}, "terminal", {"command": "ls"}),
        ("Bash", {"command": "ls", "description": "List"}, "terminal", {"command": "ls"}),
        (
            "terminal",
            {"command": "ls", "background": False, "workdir": "src"},
            "terminal",
            {"command": "ls", "cwd": "src"},
        ),
        (
            "patch",
            {"mode": "replace", "path": "a", "old_string": "x", "new_string": ""},
            "patch",
            {"path": "a", "old": "x", "new": ""},
        ),
        (
            "Edit",
            {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True},
            "patch",
            {"path": "a", "old": "x", "new": "y", "all": True},
        ),
        ("patch", {"path": "a", "old": "x", "new": "y"}, "patch", {"path": "a", "old": "x", "new": "y"}),
        ("Glob", {"pattern": "**/*.py"}, "search_files", {"pattern": "**/*.py", "by": "name"}),
        ("Grep", {"pattern": "TODO", "glob": "*.py"}, "search_files", {"pattern": "TODO", "only": "*.py"}),
        ("search_files", {"pattern": "*.py", "target": "files"}, "search_files", {"pattern": "*.py", "by": "name"}),
        ("WebFetch", {"url": "https://a", "prompt": "sum it up"}, "web_fetch", {"url": "https://a"}),
        ("terminal", {"command": "ls"}, "Bash", {"command": "ls"}),
        ("read_file", {"path": "a"}, "Read", {"file_path": "a"}),
        ("apply_patch", {"input": "*** Begin Patch"}, "patch", None),
        ("web_extract", {"urls": ["https://a"]}, "web_fetch", None),
    ],
)
def test_arguments_become_what_the_tool_takes(tool, given, target, expected):
    assert translate_arguments(target, ToolCallExample(tool, given, "ok")) == expected


def test_what_does_not_fit_is_left_out_and_said():
    examples = [ToolCallExample("apply_patch", {"input": "x"}, "ok"), ToolCallExample("Bash", {"command": "ls"}, "a")]
    made = adapt_tools(SessionTemplate("a", TaskType.FILE, examples), ["patch", "terminal"])
    assert [(one.tool_name, one.arguments) for one in made.template.examples] == [("terminal", {"command": "ls"})]
    assert made.left_out == ("apply_patch (its arguments do not fit patch here)",)
    assert made.mapped == ("Bash as terminal",)


async def test_the_table_says_what_our_tools_take(home):
    registry = Registry([one for one in BUILT_INS if one.name in ("sqlite", "tools")], lambda: ())
    kit = App(config.load({"home": str(home)}), registry)
    ours = {one.name: set(one.parameters["properties"]) for one in kit.tools()}
    await kit.close()
    for tool, takes in names.table("takes").items():
        assert set(takes.values()) <= ours[tool]
        assert set(names.table("needs")[tool]) <= set(takes.values())
