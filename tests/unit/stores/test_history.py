"""The cache of session facts between two reads."""

from sojourn.stores.sql.history import SessionFactsCache


def row(id_: str, started: float = 1.0, *, title: str | None = None, born: int = 1, rows: int = 0):
    named = None if title is None else title.encode()
    return (id_.encode(), b"cli", named, None, started, 0, 0, b"owner", born, rows, rows, rows, None)


def test_the_newest_start_comes_first_and_ties_in_order_of_insertion():
    cache = SessionFactsCache()
    cache.replace_all([row("c", 2.0, born=3), row("a", 1.0, born=1), row("b", 2.0, born=2)])
    assert [one.id for one in cache.list_sorted()] == ["b", "c", "a"]


def test_what_still_looks_the_same_is_the_very_same():
    cache = SessionFactsCache()
    cache.replace_all([row("a"), row("b", born=2)])
    before = {one.id: one for one in cache.list_sorted()}
    cache.update([b"a", b"b"], [row("a"), row("b", born=2, rows=1)])
    after = {one.id: one for one in cache.list_sorted()}
    assert after["a"] is before["a"]
    assert after["b"].rows == 1
    cache.replace_all([row("a"), row("b", born=2, rows=1)])
    assert [one for one in cache.list_sorted() if one is after[one.id]] == cache.list_sorted()


def test_one_that_was_touched_and_has_no_row_is_gone():
    cache = SessionFactsCache()
    cache.replace_all([row("a"), row("b", born=2)])
    cache.update([b"a"], [])
    assert [one.id for one in cache.list_sorted()] == ["b"]
    assert len(cache) == 1


def test_who_changes_the_list_changes_only_his_own():
    cache = SessionFactsCache()
    cache.replace_all([row("a")])
    cache.list_sorted().clear()
    assert len(cache.list_sorted()) == 1
