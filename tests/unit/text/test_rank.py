"""Words of a request are counted in texts, in every form and script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.text.rank import RankedQuery
from sojourn.text.tokenizer import find_forms, iter_run_places


@pytest.mark.parametrize(
    ("request_text", "text", "counts"),
    [
        ("gardens", "The garden; gardening in GARDENS, gardenia.", [3]),
        ("decide house", "decided: my_house, theHouse, housing", [1, 3]),
        ("user name", "getUserName(user_name)", [2, 2]),
        ("错误信息", "有错误信息。", [1, 1, 1]),
        ("café", "Le CAFÉ des cafés", [2]),
        ("istanbul house", "İstanbul house", [0, 1]),  # the first letter has another length in lower case
        ("zebra", "", [0]),
    ],
)
def test_words_are_counted(request_text, text, counts):
    assert RankedQuery(request_text, is_question=True).count(text)[0] == counts


def test_two_words_side_by_side_weigh_more():
    query = RankedQuery("red house", is_question=True)
    assert query.count("a red house")[2] == query.count("red, house")[2] > 0
    assert query.count("a red old house")[2] == query.count("house red")[2] == 0


@given(st.text("aeigrdn _-.İß错误", max_size=60))
def test_every_run_that_has_a_word_is_found(text):
    query = RankedQuery("garden reading 错误 ring_e", is_question=True)
    forms = [find_forms(run[0]) for run in iter_run_places(text)]
    expected = [sum(word.root in one or word.term in one for one in forms) for word in query.words]
    assert query.count(text)[0] == expected
