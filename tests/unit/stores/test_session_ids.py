"""What may be the id of a session: it becomes part of file names and URLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.core.sessions import new_session_id
from sojourn.stores.sql.session_names import check_session_id

anything = st.text(st.characters(exclude_categories=()), max_size=120)


def test_a_new_id_is_accepted():
    assert check_session_id(new_session_id())


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
