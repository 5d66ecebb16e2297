"""The keys scripts rely on, and values no store would expect."""

import json

from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.text.export import message_to_json, session_to_json
from sojourn.text.formatting import dump_json


def shown(message: Message) -> dict:
    return message_to_json(Recorded(session=SessionId("s"), seq=3, at=1.7e9, item=message))


def test_a_session_has_these_keys():
    assert set(session_to_json(Session(id=SessionId("s")))) == {
        "id",
        "source",
        "title",
        "tags",
        "pinned",
        "archived",
        "parent_session_id",
        "model",
        "cwd",
        "started_at",
        "last_active",
        "ended_at",
        "end_reason",
        "message_count",
        "tool_call_count",
        "input_tokens",
        "output_tokens",
        "estimated_cost_usd",
        "last_seq",
        "revision",
        "driver",
        "handoff_state",
        "handoff_platform",
        "handoff_error",
        "preview",
        "program",
        "machine",
        "branched_from",
        "copied",
        "trashed_at",
    }


def test_a_message_has_these_keys_and_more_if_it_has_more():
    assert shown(Message(role="user", content="hi")) == {
        "id": "s:3",
        "session": "s",
        "seq": 3,
        "role": "user",
        "content": "hi",
        "active": True,
        "compacted": False,
        "timestamp": "2023-11-14T22:13:20.000Z",
    }
    parts = json.dumps([{"type": "text", "text": "hi"}, {"type": "image"}])
    rich = shown(Message(role="user", content=parts, structured=True, token_count=0))
    assert rich["content"] == "hi\n[image]"
    assert rich["parts"][1] == {"type": "image"}
    assert rich["token_count"] == 0


def test_tool_calls_are_parsed_and_broken_ones_kept_as_text():
    raw = [
        {"id": "1", "function": {"name": "ls", "arguments": '{"a": NaN}'}},
        {"id": "2", "name": "rm", "arguments": "{"},
    ]
    calls = shown(Message(role="assistant", tool_calls=json.dumps(raw)))["tool_calls"]
    assert calls == [{"id": "1", "name": "ls", "arguments": {"a": "NaN"}}, {"id": "2", "name": "rm", "arguments": "{"}]


def test_what_is_not_unicode_still_makes_valid_json():
    assert json.loads(dump_json({"a": "\udc80 é"})) == {"a": "\udc80 é"}
    assert dump_json("é") == '"é"'
