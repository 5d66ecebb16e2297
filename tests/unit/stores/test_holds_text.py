"""Which documents are stored without a look for secrets: those that have no text."""

import pytest

from sojourn.stores.sql.rows import encode_json, holds_text
from sojourn.text.redaction import Identifier, redact

KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


@pytest.mark.parametrize(
    "value", [{}, {"blocks": [], "tokens": 0, "seconds": 0.1, "ok": None}, {"model": ""}, [1, True], {"in": {"out": 1}}]
)
def test_names_and_numbers_are_no_text(value):
    assert not holds_text(value)


@pytest.mark.parametrize(
    "value",
    [KEY, {"a": KEY}, {"a": [{"b": KEY}]}, {KEY: 1}, {KEY: ""}, ("x", KEY), {"password": "swordfish"}, {1: KEY}],
)
def test_everything_else_is(value):
    assert holds_text(value)
    assert KEY not in encode_json(value if not isinstance(value, tuple) else list(value), redact)


def test_identifiers_are_told_apart_only_beside_a_secret():
    value = {"token": Identifier(KEY), "text": f"use {KEY}"}
    assert encode_json(value, redact).count(KEY) == 1
    assert encode_json({"token": Identifier(KEY), "text": "hello"}, redact).count(KEY) == 1
