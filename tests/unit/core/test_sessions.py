"""Ids of sessions, turns and log entries."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk
from sojourn.core.sessions import Recorded, SessionId, check_session_id, new_session_id, new_turn_id

anything = st.text(st.characters(exclude_categories=()), max_size=120)


def test_a_session_id_begins_with_its_moment():
    now = time.time()
    assert new_session_id(now).startswith(time.strftime("%Y%m%d_%H%M%S_", time.localtime(now)))
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", new_session_id())
    assert check_session_id(new_session_id())


def test_ids_differ_even_within_a_second():
    assert len({new_session_id(1.0) for _ in range(200)}) == 200
    assert len({new_turn_id() for _ in range(200)}) == 200
    assert re.fullmatch(r"t_[0-9a-f]{16}", new_turn_id())


@pytest.mark.parametrize("id", ["a", "20260101_000000_deadbeef", "A.b_c:d@e+f=g-h", pytest.param("0" * 255, id="long")])
def test_a_safe_id_is_accepted(id):
    assert check_session_id(id) == id


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        ".a",
        "-a",
        "_a",
        "a..b",
        "a/b",
        "a\\b",
        "a b",
        "a\n",
        "a\0",
        "é",
        "\ud800",
        pytest.param("0" * 256, id="too long"),
        "a%2f",
    ],
)
def test_an_id_that_could_lead_elsewhere_is_refused(id):
    with pytest.raises(BadInput) as refused:
        check_session_id(id)
    assert refused.value.hint


@given(anything)
def test_what_is_accepted_as_an_id_is_one_path_segment(text):
    try:
        id = check_session_id(text)
    except BadInput:
        return
    assert id == text
    assert not set(id) & set("/\\\0 \n")
    assert id not in (".", "..")


def test_what_is_kept_has_a_public_id():
    assert Recorded(session=SessionId("abc"), seq=7, at=1.0, item=Chunk("x")).public_id == "abc:7"
