"""What goes over the wire has the same keys as `--json`, so that a script can move between the two."""

import dataclasses
from typing import Any

import pytest

from sojourn.cli import json_output as cli
from sojourn.core.messages import Message, ToolCall, assistant, user
from sojourn.core.sessions import Recorded, Session, SessionId, TurnId
from sojourn.http import schemas
from sojourn.ports.store import Removed, SearchHit
from sojourn.text.export import message_to_json, session_to_json
from sojourn.text.query import Snippet

ID = SessionId("20261116_120000_0123abcd")
EVERYTHING: dict[str, Any] = (
    {field.name: "{}" for field in dataclasses.fields(Message) if "str" in str(field.type)}
    | {"content": '[{"type": "text", "text": "x"}]', "structured": True, "observed": True, "timestamp": 1.7e9}
    | {"tool_calls": '[{"name": "run", "id": "1", "arguments": {"a": 1}}]', "token_count": 0, "turn_id": "t_1"}
)
FULL = Message(**EVERYTHING)


def test_a_session_has_the_same_keys_and_values():
    session = Session(id=ID, title="x", tags=("a",), started_at=1.7e9, last_active=1.7e9 + 0.1239, ended_at=None)
    assert schemas.SessionSchema.model_validate(session).model_dump() == session_to_json(session)


@pytest.mark.parametrize(
    "message",
    [user("hi"), assistant(None, [ToolCall(id="c", name="n", arguments="{")]), FULL],
    ids=["said", "called", "everything"],
)
def test_a_message_has_the_same_keys_and_values(message):
    kept = Recorded(session=ID, seq=7, at=1.7e9, item=message, turn=TurnId("t_1") if message is FULL else None)
    assert schemas.MessageSchema.of(kept).model_dump() == message_to_json(kept)


def test_hits_and_removals_have_the_same_keys_and_values():
    for seq in (0, 3):
        hit = SearchHit(
            session=ID, seq=seq, role="user", timestamp=1.7e9, snippet=Snippet("a b", ((0, 1),)), source="cli"
        )
        assert schemas.HitSchema.of(hit).model_dump(mode="json") == cli.encode_hit(hit)
    removed = Removed(session=ID, rows={"messages": 2}, files=("f",), backups=("b",), remaining=("l",))
    assert schemas.RemovalSchema.model_validate(removed).model_dump() == cli.encode_removal(removed)
