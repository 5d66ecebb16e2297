"""What a scanner remembers of a store's sessions between two looks."""

from sojourn.stores.facts import KnownFacts


def row(id_: str, started: float = 1.0, *, title: str | None = None, born: int = 1, rows: int = 0):
    named = None if title is None else title.encode()
    return (id_.encode(), b"cli", named, None, started, 0, 0, b"owner", born, rows, rows, rows, None)


def test_the_newest_start_comes_first_and_ties_in_order_of_insertion():
    known = KnownFacts()
    known.list_again([row("c", 2.0, born=3), row("a", 1.0, born=1), row("b", 2.0, born=2)])
    assert [one.id for one in known.listed()] == ["b", "c", "a"]


def test_what_still_looks_the_same_is_the_very_same():
    known = KnownFacts()
    known.list_again([row("a"), row("b", born=2)])
    before = {one.id: one for one in known.listed()}
    known.change([b"a", b"b"], [row("a"), row("b", born=2, rows=1)])
    after = {one.id: one for one in known.listed()}
    assert after["a"] is before["a"]
    assert after["b"].rows == 1
    known.list_again([row("a"), row("b", born=2, rows=1)])
    assert [one for one in known.listed() if one is after[one.id]] == known.listed()


def test_one_that_was_touched_and_has_no_row_is_gone():
    known = KnownFacts()
    known.list_again([row("a"), row("b", born=2)])
    known.change([b"a"], [])
    assert [one.id for one in known.listed()] == ["b"]
    assert len(known) == 1


def test_who_changes_the_list_changes_only_his_own():
    known = KnownFacts()
    known.list_again([row("a")])
    known.listed().clear()
    assert len(known.listed()) == 1
