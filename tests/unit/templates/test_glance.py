"""At first sight: what tells that a call failed, in the bytes of its result."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.messages import ToolCall, assistant, tool_result
from sojourn.templates import glance
from sojourn.templates.glance import AtOnce, Plain, seem_fine
from sojourn.templates.judge import judge
from sojourn.templates.tool_calls import Exchange, conversation
from tests.unit.templates.test_judge import LABELLED, SECOND, THIRD, rows, said
from tests.unit.templates.worlds import BAD, GOOD, did
from tests.unit.templates.worlds import rows as raw_rows

PLAIN, AT_ONCE = Plain(), AtOnce()
PIECES = st.sampled_from(
    [
        b'"ok"',
        b'"error"',
        b'"exit_code"',
        b'"status"',
        b":",
        b" ",
        b"false",
        b"true",
        b"1",
        b"0",
        b"null",
        b'"x"',
        b'""',
        b"[]",
        b"[1",
        b"{",
        b'"failed"',
        b"\0",
        b"\n",
        b"\\n",
        b'"',
        b"Error: ",
        b"fatal: ",
        b"3 failed",
        b"Traceback ",
        b"(most recent call last)",
        b": No such file or directory",
        "失败：".encode(),
        b"\xff",
        b"make: ",
        b"[Errno 2",
    ]
)


def seems(tool, result):
    return seem_fine([Exchange(1, 1, "c", tool, "{}", answer=result)])[0]


@given(st.lists(PIECES, max_size=30).map(b"".join))
def test_both_ways_to_look_see_the_same(data):
    parts = [len(one) + 1 for one in data.split(b"\0")]
    stops = [sum(parts[: n + 1]) for n in range(len(parts))]

    def seen(sights):
        return {(next(n for n, stop in enumerate(stops) if end <= stop), of_fields) for end, of_fields in sights(data)}

    assert seen(AT_ONCE) == seen(PLAIN)


@pytest.mark.parametrize(
    ("tool", "result", "fine"),
    [
        ("terminal", GOOD, True),
        ("terminal", BAD, False),
        ("terminal", '{"output": "make: fatal: no rule", "exit_code": 0}', False),
        ("terminal", "Exit code: 2\nnothing", False),
        ("execute_code", "Traceback (most recent call last):\n  x", False),
        ("read_file", "Traceback (most recent call last):\n  x", True),  # what was only read
        ("read_file", '{"content": "{\\"exit_code\\": 1}"}', True),
        ("patch", '{"success": false}', False),
        ("patch", '{"errors": []}', True),
        ("web_search", b'{"ok":\n false}', False),
        ("terminal", "", True),
        ("terminal", None, False),
    ],
)
def test_fields_tell_of_every_tool_and_lines_of_those_that_run_programs(tool, result, fine):
    assert seems(tool, result) is fine


def test_results_are_not_mixed_up():
    messages = [one for n in range(6) for one in did("terminal", {"n": n}, BAD if n % 3 == 0 else GOOD, id=f"c{n}")]
    unanswered = [assistant("", [ToolCall(id="u", name="terminal", arguments="{}")])]
    found = conversation(raw_rows(*messages, *unanswered)).exchanges
    assert seem_fine(found) == [False, True, True, False, True, True, False]
    assert seem_fine([]) == []


def test_what_the_transcript_noted_counts():
    call = ToolCall(id="c", name="terminal", arguments="{}")
    noted = tool_result(call, GOOD, extra=json.dumps({"is_error": True}))
    assert seem_fine(conversation(raw_rows(assistant("", [call]), noted)).exchanges) == [False]


def test_a_machine_without_hyperscan_looks_too(monkeypatch):
    monkeypatch.setattr(glance, "_ENGINE", None)
    glance.sights.cache_clear()
    try:
        assert [seems("terminal", GOOD), seems("terminal", BAD)] == [True, False]
    finally:
        glance.sights.cache_clear()


def test_it_is_mostly_right_where_failures_are_hidden_and_no_judge():
    found = [one for file in (LABELLED, SECOND, THIRD) for half in ("tuning", "held_out") for one in rows(half, file)]
    texts = [said(one) if isinstance(said(one), str) else json.dumps(said(one)) for one in found]
    looked = [seems(one["tool"], text) == one["success"] for one, text in zip(found, texts, strict=True)]
    judged = [judge(one["tool"], one["arguments"], said(one), extra=one.get("extra")).success for one in found]
    print(f"at first sight {sum(looked) / len(looked):.0%}")
    assert sum(looked) / len(looked) > 0.7
    assert sum(a == one["success"] for a, one in zip(judged, found, strict=True)) > sum(looked)
