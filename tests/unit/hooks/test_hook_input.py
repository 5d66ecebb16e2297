"""What the hooks of other programs say, and what they are told: anything but a clear yes is a no."""

import json

import pytest

from sojourn.hooks.hook_input import LABELS, MAX_DETAIL_CHARS, parse_event, render_answer

ASKED = {
    "hook_event_name": "PermissionRequest",
    "session_id": "s1",
    "cwd": "/home/ann/garden",
    "tool_name": "Bash",
    "tool_input": {"command": "make clean", "description": "harmless, believe me"},
}


def test_a_command_stands_alone_and_what_a_model_says_about_it_is_left_out():
    event = parse_event("claude", ASKED)
    assert (event.kind, event.tool, event.detail, event.place) == ("question", "Bash", "make clean", "garden")


def test_whatever_else_a_call_is_given_is_shown():
    given = {**ASKED, "tool_input": {"command": "ls", "dangerouslyDisableSandbox": True}}
    assert "dangerouslyDisableSandbox" in parse_event("claude", given).detail
    given = {**ASKED, "tool_name": "Write", "tool_input": {"file_path": "/etc/passwd", "content": "x"}}
    assert json.loads(parse_event("claude", given).detail) == given["tool_input"]


def test_what_nobody_can_read_or_answer_with_a_button_is_left_to_the_terminal():
    long = {**ASKED, "tool_input": {"command": "x" * (MAX_DETAIL_CHARS + 1)}}
    assert parse_event("claude", long).kind == "waiting"
    assert parse_event("claude", {**ASKED, "tool_name": "AskUserQuestion"}).kind == "waiting"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"hook_event_name": "Notification", "notification_type": "idle_prompt"}, "waiting"),
        ({"hook_event_name": "Notification", "message": "Claude is waiting for your input"}, "waiting"),
        ({"hook_event_name": "Notification", "notification_type": "ToolPermission"}, "waiting"),
        ({"hook_event_name": "Stop"}, "idle"),
    ],
)
def test_notices(given, kind):
    assert parse_event("claude", given).kind == kind


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "allow",
        {},
        {"hook_event_name": "PermissionRequest"},
        {"hook_event_name": "Notification", "notification_type": "permission_prompt"},
        {"hook_event_name": "PreToolUse", "tool_name": "Bash"},
    ],
)
def test_anything_else_does_not_concern_us(given):
    assert parse_event("claude", given) is None


@pytest.mark.parametrize("program", LABELS)
@pytest.mark.parametrize("choice", ["deny", "", "always", "session", "ONCE", "allow", "yes"])
def test_only_once_is_a_yes(program, choice):
    text = render_answer(program, ASKED, choice, "no")
    assert "allow" not in text
    assert '"once"' not in text
    assert any(word in text for word in ("deny", "reject"))


def test_a_yes_in_each_language():
    assert json.loads(render_answer("claude", ASKED, "once", ""))["hookSpecificOutput"] == {
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow"},
    }
    assert json.loads(render_answer("opencode", ASKED, "once", ""))["reply"] == "once"
    assert json.loads(render_answer("gemini", ASKED, "once", "")) == {}
