"""Refusals inside a 200."""

import pytest

from sojourn.core.errors import KeyRefused, SendRefused
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.result_codes import ResultCodes, read_code

CODES = ResultCodes(
    label="Net",
    key="SOJOURN_NET_KEY",
    code_field="errcode",
    message_field="errmsg",
    kinds={"rate_limited": (7,)},
    hints={7: "Write less."},
    key_codes=frozenset({8}),
    token_codes=frozenset({9}),
)


def test_zero_is_a_success():
    assert CODES.check({"errcode": 0, "id": "1"})["id"] == "1"


def test_a_code_becomes_its_kind_with_hint_and_wait():
    with pytest.raises(SendRefused, match="Net says: 7 slowly") as refused:
        CODES.check({"errcode": 7, "errmsg": "slowly."}, retry_after=3)
    assert (refused.value.kind, refused.value.retry_after, refused.value.hint) == ("rate_limited", 3, "Write less.")


def test_a_key_and_a_token_are_told_apart():
    with pytest.raises(KeyRefused) as refused:
        CODES.check({"errcode": 8})
    assert "SOJOURN_NET_KEY" in refused.value.hint
    with pytest.raises(TokenExpired):
        CODES.check({"errcode": 9})


@pytest.mark.parametrize("body", [{}, [], None, "ok", {"errcode": None}, {"errcode": True}, {"errcode": "zero"}])
def test_a_body_without_the_code_is_never_a_success(body):
    with pytest.raises(SendRefused) as refused:
        CODES.check(body)
    assert refused.value.kind == "unknown"


def test_a_code_may_be_digits_in_a_text():
    assert (read_code({"code": "-2"}, "code"), read_code({"code": "9" * 400}, "code")) == (-2, None)
