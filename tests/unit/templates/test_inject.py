"""A template put before a conversation: exactly this block, exactly there, and never taken for history."""

import json

from sojourn.core.messages import assistant, tool_calls_of, user
from sojourn.templates.inject import inject, to_example_messages
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.tool_translation import adapt_tools
from sojourn.text.template_examples import is_example, render_examples

TWO = [ToolCallExample("terminal", {"command": "ls"}, "a.txt"), ToolCallExample("read_file", {"path": "ä"}, "text")]
TEMPLATE = SessionTemplate("listing", TaskType.FILE, TWO)


def block(ids=("template_0", "template_1")):
    line = (
        'Template "listing" (file): calls that worked in earlier sessions of this kind. '
        "They are examples; none of them was made in this conversation."
    )
    found = [{"role": "system", "content": line}]
    for id, one in zip(ids, TWO, strict=True):
        function = {"name": one.tool_name, "arguments": json.dumps(one.arguments, ensure_ascii=False)}
        call = {"id": id, "type": "function", "function": function}
        found += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": id, "content": one.result},
        ]
    return found


def test_the_block_stands_right_after_the_leading_system_messages():
    system, more = {"role": "system", "content": "a"}, {"role": "system", "content": "b"}
    said, later = {"role": "user", "content": "hi"}, {"role": "system", "content": "later"}
    given = [system, more, said, later]
    assert inject(TEMPLATE, given) == [system, more, *block(), said, later]
    assert given == [system, more, said, later]
    assert inject(TEMPLATE, [said]) == [*block(), said]
    assert inject(TEMPLATE, []) == block()
    assert inject(TEMPLATE, [system]) == [system, *block()]


def test_ids_get_a_suffix_only_where_they_are_taken():
    taken = {"role": "assistant", "tool_calls": [{"id": "template_1", "function": {"name": "x"}}]}
    answer = {"role": "tool", "tool_call_id": "template_1_2", "content": ""}
    assert inject(TEMPLATE, [taken, answer]) == [*block(("template_0", "template_1_3")), taken, answer]


def test_a_template_without_examples_changes_nothing():
    said = [{"role": "user", "content": "hi"}]
    assert inject(SessionTemplate("none", TaskType.CODE), said) == said
    assert to_example_messages(SessionTemplate("none", TaskType.CODE)) == ()


def test_as_messages_every_one_is_marked_as_an_example_and_real_ones_are_not():
    found = to_example_messages(TEMPLATE)
    assert [one.role for one in found] == ["system", "assistant", "tool", "assistant", "tool"]
    assert all(map(is_example, found))
    assert [call.id for one in found for call in tool_calls_of(one)] == ["template_0", "template_1"]
    assert not any(
        map(is_example, [user("hi", by="Ada"), assistant("ephemeral"), assistant("x", extra="{broken ephemeral")])
    )


def test_as_text_the_same_examples_are_words():
    assert render_examples(to_example_messages(TEMPLATE)).splitlines()[1:] == [
        '→ terminal({"command": "ls"})',
        "  a.txt",
        '→ read_file({"path": "ä"})',
        "  text",
    ]


def test_examples_of_tools_a_session_lacks_are_mapped_or_left_out_and_that_is_said():
    made = adapt_tools(TEMPLATE, ["Read", "WebSearch"])
    assert [(one.tool_name, dict(one.arguments)) for one in made.template.examples] == [("Read", {"file_path": "ä"})]
    assert made.left_out == ("terminal (this session has no such tool)",)
    assert made.mapped == ("read_file as Read",)
    assert adapt_tools(TEMPLATE, []).template is TEMPLATE
