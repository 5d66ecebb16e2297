"""The five events, on the wire and back."""

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.text.event_codec import decode_event, encode_event

text = st.text(st.characters(exclude_categories=()))
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
detail = st.dictionaries(text, plain, max_size=3)
events = st.one_of(
    st.builds(Metadata, st.text(), st.text(), st.text(), st.text(), st.integers(), detail),
    st.builds(Progress, text, detail),
    st.builds(Chunk, text),
    st.builds(Failed, text, text, text, st.booleans()),
    st.builds(Done, text, detail, st.lists(text, max_size=3).map(tuple)),
)


@given(events)
def test_every_event_comes_back_from_the_wire(event):
    name, data = encode_event(event)
    assert name == event.name
    assert decode_event(name, data) == event


def test_the_names_are_for_ever():
    assert [kind.name for kind in (Metadata, Progress, Chunk, Failed, Done)] == [
        "metadata",
        "progress",
        "chunk",
        "error",
        "done",
    ]


def test_the_data_is_a_json_object_of_the_fields():
    assert encode_event(Progress("tool", MappingProxyType({"name": "é"}))) == (
        "progress",
        '{"stage":"tool","detail":{"name":"é"}}',
    )
    assert json.loads(encode_event(Done())[1]) == {"status": "completed", "usage": {}, "messages": []}


def test_fields_of_a_later_version_are_left_out():
    assert decode_event("chunk", '{"text": "a", "colour": "red"}') == Chunk("a")


@pytest.mark.parametrize(
    "data", ["", "not json", "[]", "null", "{}", '{"text": ', pytest.param("[" * 100_000, id="deep")]
)
def test_data_that_cannot_be_read_is_refused(data):
    with pytest.raises(BadInput, match="chunk"):
        decode_event("chunk", data)


def test_an_unknown_event_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match="delta") as refused:
        decode_event("delta", "{}")
    assert "progress" in refused.value.hint


def test_an_event_cannot_be_altered_and_defaults_are_not_shared():
    assert Done().usage == {}
    with pytest.raises(TypeError):
        Done().usage["x"] = 1
