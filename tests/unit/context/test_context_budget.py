"""Blocks within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.budget import fit_blocks, to_contribution
from sojourn.ports.context import ContextBlock
from sojourn.text.token_count import estimate_tokens

LINES = st.text(alphabet="abc déf 字 \n.", min_size=1, max_size=200)


def block(title: str, text: str) -> ContextBlock:
    return ContextBlock(kind="note", title=title, text=text, origin="a file", reason="it fits")


BLOCKS = st.lists(st.builds(block, LINES, LINES), max_size=8)


@given(BLOCKS, st.integers(0, 300))
def test_the_budget_is_kept_exactly_as_the_blocks_are_written(blocks, budget):
    kept, left_out = fit_blocks(blocks, budget)
    assert sum(estimate_tokens(one.render()) for one in kept) <= budget
    assert [one.tokens for one in kept] == [estimate_tokens(one.render()) for one in kept]
    assert len(left_out) >= len(blocks) - len(kept)


def test_what_has_no_room_is_named():
    kept, left_out = fit_blocks([block("small", "a"), block("large", "word " * 500)], 60)
    assert [one.title for one in kept] == ["small"]
    assert left_out[0].startswith("large: no room")


def test_a_long_block_is_cut_where_enough_of_it_remains():
    kept, left_out = fit_blocks([block("large", "word " * 500)], 200)
    assert kept[0].text.endswith("…")
    assert "only its beginning fits" in left_out[0]


def test_every_block_is_shown_with_where_it_came_from_and_why():
    found = to_contribution([block("small", "a")], 100)
    (shown,) = found.shown
    assert shown.stage == "memory"
    assert shown.detail == {
        "kind": "note",
        "title": "small",
        "origin": "a file",
        "reason": "it fits",
        "tokens": found.blocks[0].tokens,
    }
