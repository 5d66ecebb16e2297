"""One member is put into JSON with comments and taken out again; every other byte stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.mcp_server.json_text import parse_json_text, put_member, remove_member

PATH = ("mcpServers", "sojourn")
ENTRY = {"command": "python", "args": ["-m", "sojourn", "mcp"]}
COMMENTED = """\
// my settings
{
    "theme": "dark", // at night
    /* servers
       of mine */
    "mcpServers": {
        "files": { "command": "npx", "args": ["a // b", "/* c */"] } // keep
    },
}
"""
TEXTS = [
    COMMENTED,
    COMMENTED.replace("\n", "\r\n"),
    '{"a":1}',
    '{\n\t"a": 1\n}\n',
    '{"mcpServers": {"files": {}}, "z": [1, 2,]}',
    '{\n  "mcpServers": {\n    "files": {},\n    "other": {}, // last\n  }\n}',
    "\ufeff{}\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_was_put_in_is_taken_out_without_a_trace(text):
    after = put_member(text, PATH, ENTRY)
    wanted = parse_json_text(text).value
    wanted.setdefault("mcpServers", {})["sojourn"] = ENTRY
    assert parse_json_text(after).value == wanted
    assert remove_member(after, PATH) == (text if text != "\ufeff{}\n" else "\ufeff{\n}\n")


def test_comments_and_neighbours_keep_their_lines():
    after = put_member(COMMENTED, PATH, ENTRY)
    assert '        "files": { "command": "npx", "args": ["a // b", "/* c */"] }, // keep\n' in after
    assert '        "sojourn": {\n            "command": "python",\n' in after
    left = [line for line in COMMENTED.splitlines() if line not in after.splitlines()]
    assert left == ['        "files": { "command": "npx", "args": ["a // b", "/* c */"] } // keep']  # got a comma


def test_an_old_entry_is_replaced_in_its_place():
    text = '{"mcpServers": {"sojourn": {"command": "old"}, "b": {}}}'
    after = put_member(text, PATH, ENTRY)
    assert list(parse_json_text(after).value["mcpServers"]) == ["sojourn", "b"]
    assert parse_json_text(after).value["mcpServers"]["sojourn"] == ENTRY


def test_a_comment_in_the_emptied_object_stays():
    text = '{"mcpServers": { /* mine */ "sojourn": {} }}'
    assert "/* mine */" in remove_member(text, PATH)


def test_nothing_is_taken_out_of_a_text_without_it():
    assert remove_member(COMMENTED, PATH) == COMMENTED
    assert remove_member("{}", PATH) == "{}"


@pytest.mark.parametrize(
    "text",
    ["{", '{"a" 1}', '{"a": 1} x', '{"a": nope}', '{"a": 1, "a": 2}', "[" * 5000, '{"a": "\n"}', '{"a": 1 /* open }'],
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(BadInput, match="not JSON"):
        put_member(text, PATH, ENTRY)


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": []}', '{"mcpServers": 5}'])
def test_something_else_where_an_object_belongs_is_refused(text):
    with pytest.raises(BadInput):
        put_member(text, PATH, ENTRY)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=5).filter(lambda name: name != "mcpServers"), json_values, max_size=4),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_object_gains_exactly_the_member(value, indent):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    after = put_member(text, PATH, ENTRY)
    assert json.loads(after) == value | {"mcpServers": {"sojourn": ENTRY}}
    assert json.loads(remove_member(after, PATH)) == value
