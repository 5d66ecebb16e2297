"""Between values and rows: the one write path and the one way back."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import DETAIL_FIELDS
from sojourn.stores.sql.rows import (
    FIGURE_COLUMNS,
    FOREIGN_COLUMNS,
    MESSAGE_COLUMNS,
    SESSION_COLUMNS,
    coerce_column,
    coerce_columns,
    count_tool_calls,
    index_terms,
    message_from_row,
    message_row,
    preview_line,
    preview_of,
    searchable_text,
    title_terms,
)
from sojourn.stores.sql.tables import SESSION_TABLES, TABLES, TABLES_BY_NAME
from sojourn.text.redaction import no_redaction, redact
from sojourn.text.tokenizer import tool_term

text = st.text(st.characters(exclude_categories=()), max_size=20)
KINDS = {"str": text, "bool": st.booleans(), "int": st.integers(-(2**53), 2**53), "float": st.floats(0.5, 4e9)}
messages = st.builds(
    Message,
    **{
        field.name: KINDS[str(field.type).split(" |")[0]]
        if "None" not in str(field.type)
        else st.none() | KINDS[str(field.type).split(" |")[0]]
        for field in fields(Message)
    },
)


@given(messages)
def test_every_message_comes_back_from_its_row(message):
    row = dict(zip(MESSAGE_COLUMNS, message_row(message, no_redaction, now=1.0), strict=True))
    assert message_from_row(row) == message
    assert all(not isinstance(value, bool) for value in row.values())
    json.dumps(row, ensure_ascii=False).encode("utf-8")


def test_a_message_without_a_time_gets_the_moment_of_keeping():
    assert (
        message_from_row(
            dict(zip(MESSAGE_COLUMNS, message_row(user("a"), no_redaction, now=5.0), strict=True))
        ).timestamp
        == 5.0
    )


def test_secrets_go_from_every_text_but_foreign_ids():
    key = "sk-" + "a1" * 20
    message = Message(role="user", content=key, reasoning=key, extra=key, native_id=key)
    row = dict(zip(MESSAGE_COLUMNS, message_row(message, redact, now=1.0), strict=True))
    assert (row["content"], row["reasoning"], row["native_id"]) == ("[redacted:api-key]", "[redacted:api-key]", key)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("input_tokens", 7, 7),
        ("input_tokens", 7.9, 7),
        ("input_tokens", "8", 8),
        ("archived", True, 1),
        ("started_at", 5, 5.0),
        ("started_at", "5.5", 5.5),
        ("title", "a\0", "a\x1a0000"),
        ("chat_id", 42, "42"),
        ("origin_json", {"a": ["é"]}, '{"a": ["é"]}'),
        ("ended_at", None, None),
        ("id", "abc", "abc"),
        ("cwd", "password=hunter2222", "password=[redacted:password]"),
    ],
)
def test_a_value_gets_the_type_of_its_column(name, value, kept):
    done = coerce_column(name, value, redact)
    assert done == kept
    assert type(done) is type(kept)


@pytest.mark.parametrize(("name", "value"), [("input_tokens", "many"), ("started_at", []), ("archived", float("inf"))])
def test_a_value_that_does_not_fit_is_refused_by_name(name, value):
    with pytest.raises(BadInput, match=name):
        coerce_column(name, value, no_redaction)
    assert name not in coerce_columns({name: value})


def test_an_importer_fills_everything_but_what_is_ours():
    assert set(FIGURE_COLUMNS) <= set(FOREIGN_COLUMNS) <= {*SESSION_COLUMNS, *DETAIL_FIELDS}
    assert not {"id", "principal", "revision", "driver", "driver_fence", "last_seq"} & set(FOREIGN_COLUMNS)


def test_the_tables_name_each_column_once_and_have_their_key():
    for table in TABLES:
        assert len(set(table.columns)) == len(table.columns)
        assert set(table.key) <= set(table.columns)
    assert set(SESSION_TABLES) - set(TABLES_BY_NAME) == {"controls", "questions", "changes"}


@given(text)
def test_a_preview_is_a_short_line(words):
    shown = preview_line(user(words))
    assert len(shown) <= 80
    assert shown == " ".join(shown.split())


@pytest.mark.parametrize("before", range(0, 85, 7))
def test_the_opening_words_never_show_a_part_of_a_secret(before):
    said = "x" * before + " sk-" + "a1B2" * 20 + " " + "y" * 50
    assert "a1B2" not in preview_of([user(said)], redact)


def test_the_opening_words_are_the_first_a_person_said():
    said = [assistant("Welcome"), user(" \n"), user("a\0b  c"), user("d")]
    assert preview_of(said, no_redaction) == "a\x1a0000b c"
    assert preview_of([assistant("Welcome")], no_redaction) == ""


def test_a_message_is_found_by_its_words_and_what_its_tools_were_asked():
    message = assistant("Looking", [ToolCall(id="1", name="read_file", arguments='{"path": "notes.md"}')])
    assert searchable_text(message).split("\n") == ["Looking", 'read_file {"path": "notes.md"}']
    assert {"looking", "readfile", "notes", tool_term("read_file")} <= index_terms(message)
    assert tool_term("terminal") in index_terms(tool_result(ToolCall(id="1", name="Terminal"), "ok"))


def test_what_is_indexed_of_a_huge_message_is_bounded():
    huge = replace(user("w " * 5_000_000), tool_calls=json.dumps([{"name": "t", "arguments": "x " * 1_000_000}]))
    assert len(searchable_text(huge)) < 100_000


def test_the_terms_of_a_title_stand_between_spaces():
    assert title_terms("Red getUser") == " get getuser red user "
    assert title_terms(None) is title_terms("") is None


@pytest.mark.parametrize(
    ("calls", "count"),
    [("[1, 2]", 2), ("[]", 0), ("{}", 0), ("x", 0), (None, 0), pytest.param("[" * 100_000, 0, id="deep")],
)
def test_tool_calls_are_counted_as_they_are_kept(calls, count):
    assert count_tool_calls(Message(role="assistant", tool_calls=calls)) == count
