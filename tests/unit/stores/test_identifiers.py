"""Identifiers of networks are stored as they are, whatever their field is called."""

import json

import pytest

from sojourn.stores.sql import rows
from sojourn.text.redaction import INLINE_CHARS, mark_identifiers, redact

FIELDS = ("sender_key", "session_id", "ciphertext", "password", "api_key", "token", "secret", "authorization", "since")


@pytest.mark.parametrize("field", FIELDS)
def test_an_identifier_is_not_redacted_under_any_name(field, monkeypatch):
    document = {
        "waiting": [{"room": "!a:b", "event": {"content": {field: "0lzigURiMSNhfBlFyk7kyq+vlRuDLieEduV00y8Fmxk"}}}]
    }
    for number in range(50):  # the mark that stands in for it is random
        monkeypatch.setattr(rows, "_MARK", f"aside-{number * 7919:032x}-")
        assert json.loads(rows.encode_json(mark_identifiers(document), redact)) == document


def test_a_password_beside_an_identifier_and_a_long_one_are_redacted():
    long_password = "hunter2-and-more " * INLINE_CHARS
    document = {"chat": "!a:b", "password": "Tr0ub4dor&3-horse", "text": f"password: {long_password}"}
    stored = rows.encode_json(mark_identifiers(document, texts=("password", "text")), redact)
    assert json.loads(stored)["chat"] == "!a:b"
    assert "Tr0ub4dor" not in stored
