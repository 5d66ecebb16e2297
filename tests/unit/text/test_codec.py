"""Values that went over the wire are the same values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.store import SearchHit
from sojourn.text.codec import decode_recorded, decode_value, encode_recorded, encode_value, make_cursor, parse_cursor
from sojourn.text.query import Snippet

TEXT = st.text(st.characters(codec=None))


def through(value):
    return json.loads(json.dumps(value))


def test_a_session_comes_back_as_it_was():
    session = Session(
        id=SessionId("a"),
        principal=Principal("g"),
        title="ü\udc80",
        tags=("x", "y"),
        started_at=1794817800.123456789,
        estimated_cost_usd=None,
        details={"a": [1, None, {"b": "c"}]},
        driver_fence=3,
    )
    assert decode_value(Session, through(encode_value(session))) == session


def test_values_within_values_come_back_too():
    hit = SearchHit(session=SessionId("a"), seq=1, role="user", timestamp=1.5, snippet=Snippet("a b", ((0, 1), (2, 3))))
    assert decode_value(SearchHit, through(encode_value(hit))) == hit


@given(TEXT, st.floats(allow_nan=False, allow_infinity=False))
def test_a_message_comes_back_as_it_was(text, at):
    kept = Recorded(session=SessionId("a"), seq=7, at=at, item=Message(role="user", content=text), turn=TurnId("t_1"))
    name, raw = encode_recorded(kept)
    assert decode_recorded(name, 7, through(raw)) == kept


@pytest.mark.parametrize(
    "event",
    [
        Metadata(session_id="a", detail={"x": 1}),
        Progress("tool", {"a": [1]}),
        Chunk("x\udc80\0"),
        Failed("c", "m"),
        Done(usage={"a": 1.5}, messages=("a:1",)),
    ],
)
def test_an_event_comes_back_as_it_was(event):
    kept = Recorded(session=SessionId("a"), seq=7, at=1.25, item=event)
    name, raw = encode_recorded(kept)
    assert name == event.name
    assert decode_recorded(name, 7, through(raw)) == kept


def test_what_a_newer_server_says_besides_is_left_out():
    assert decode_value(Snippet, {"text": "x", "colour": "red"}) == Snippet("x")


@given(st.floats(allow_nan=False), st.text(min_size=1))
def test_a_cursor_is_a_place(moment, name):
    assert parse_cursor(make_cursor(moment, name)) == (moment, name)
