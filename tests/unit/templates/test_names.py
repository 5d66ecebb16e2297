"""The JSON form of a template, and names that are safe file names."""

import json
import re
import time

import pytest

from sojourn.core.errors import BadInput
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample, check_name, default_name

ORIGINAL = """{
  "name": "code_20260101_1767225600",
  "task_type": "code",
  "examples": [
    {"tool_name": "execute_code", "arguments": {"code": "print(1)"}, "result": "1", "success": true}
  ],
  "description": "Template with 1 examples",
  "created_at": 1767225600.5,
  "usage_count": 4,
  "source_session_id": "20260101_000000_abc123"
}"""


def test_a_file_of_the_original_format_comes_back_unchanged():
    assert SessionTemplate.from_dict(json.loads(ORIGINAL)).to_dict() == json.loads(ORIGINAL)


def test_a_template_has_these_keys_in_this_order_and_no_others():
    made = SessionTemplate(name="a", task_type=TaskType.CODE, examples=[ToolCallExample("t", {}, "r")]).to_dict()
    assert list(made) == [
        "name",
        "task_type",
        "examples",
        "description",
        "created_at",
        "usage_count",
        "source_session_id",
    ]
    assert list(made["examples"][0]) == ["tool_name", "arguments", "result", "success"]
    assert made["description"] == "Template with 1 examples"


def test_a_template_made_at_zero_is_made_now():
    began = time.time()
    for made in (SessionTemplate("a", TaskType.CODE), SessionTemplate("a", TaskType.CODE, created_at=0.0)):
        assert began <= made.created_at <= time.time()
    assert SessionTemplate("a", TaskType.CODE, created_at=5.0).created_at == 5.0


def test_an_example_can_be_filled_after_it_was_made():
    example = ToolCallExample("terminal")
    example.arguments, example.result, example.success = {"command": "ls"}, "a.py", False
    assert example == ToolCallExample("terminal", {"command": "ls"}, "a.py", False)


def test_arguments_and_results_of_another_shape_are_read_as_what_they_say():
    read = ToolCallExample.from_dict({"tool_name": "t", "arguments": '{"a": 1}', "result": {"b": None}})
    assert (read.arguments, read.result) == ({"a": 1}, '{"b": null}')
    assert ToolCallExample.from_dict({"tool_name": "t", "arguments": "torn{"}).arguments == {}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"name": 3},
        {"name": "a", "task_type": "dance"},
        {"name": "a", "examples": {}},
        {"name": "a", "examples": [1]},
        {"name": "a", "examples": [{}]},
        {"name": "a", "usage_count": "many"},
        {"name": "a", "created_at": 10**400},
        {"name": "a", "created_at": float("nan")},
        {"name": "a", "created_at": 1e30},
    ],
)
def test_what_is_no_template_is_refused_with_the_reason(data):
    with pytest.raises(BadInput) as refused:
        SessionTemplate.from_dict(data)
    assert refused.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "..",
        "a/b",
        "a\\b",
        "nul\x00",
        "a\nb",
        "",
        " ",
        ".hidden",
        "a" * 300,
        "日" * 101,
        "CON",
        "aux.txt",
        "a..b",
        "x.",
    ],
)
def test_a_name_that_is_no_safe_file_name_is_refused(name):
    with pytest.raises(BadInput):
        check_name(name)


@pytest.mark.parametrize("name", ["a", "deploy site", "测试_1", "v1.2-b+c", "code_ab12cd34_1767225600"])
def test_an_ordinary_name_is_kept_as_it_is(name):
    assert check_name(name) == name


def test_the_default_name_ends_in_the_tail_of_the_session_and_the_time():
    assert default_name(TaskType.FILE, "20260102_030405_1a2b3c4d", 1767225600.9) == "file_1a2b3c4d_1767225600"
    odd = default_name(TaskType.MIXED, "a:b@c/..", 1.0)
    assert check_name(odd)
    assert re.fullmatch(r"mixed_\w+_1", odd)
