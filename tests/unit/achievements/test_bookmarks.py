"""A session that grew is read on, and counts as if it were read from its beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.achievements.bookmarks import MOST, Bookmarks, joints
from sojourn.core.badges import MetricRule, WordPattern
from sojourn.core.errors import StoreCorrupt
from tests.unit.achievements.worlds import BOOK, ENGINES, ListedHistory, raw, scanner


class GrowingHistory(ListedHistory):
    """Sessions that are read on; `reads` says from which row."""

    def rows_after(self, session, row):
        self._may_fail()
        self.reads.append((session, row))
        return [one for one in self.rows[session] if one[0] > row]

    def say(self, session, *messages):
        rows = self.rows.get(session, [])
        fresh = raw([one if isinstance(one, dict) else {"content": one} for one in messages])
        start = rows[-1][0] if rows else 0
        self.rows[session] = rows + [(start + number, *row) for number, *row in fresh]
        before = self.facts.get(session)
        if before is None:
            self.put(session)
            self.rows[session] = fresh
            before = self.facts[session]
        count = len(self.rows[session])
        self.facts[session] = replace(before, rows=before.rows + len(fresh), active_rows=count)


def counted(bookmarks, history, session="s"):
    ((_, contribution),) = bookmarks.count([history.facts[session]])
    return contribution


def marks_of(history, engine="hyperscan"):
    return Bookmarks(BOOK, history, lambda: scanner(engine))


# Words that hits are made of, cut where hits can be cut, and every kind of space between them.
WORDS = [
    "git",
    "GIT\u00a0",
    "push",
    " commit",
    "background",
    "=",
    " = ",
    "true",
    'exit_code"',
    ": 0",
    "exit_code",
    "= 0",
    "",
    " ",
    "\n\t",
    "\u2003",
    "error",
    "npm install",
    "ok",
    "docker name already",
    "ba\u212a",
    "background\x1f",
    "typo",
    "./a.py",
    "s\u212aill",
    "\u65e5\u672c",
    "restart",
]
MESSAGE = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), max_size=3).map("".join),
    st.sampled_from(
        [
            {"role": "assistant", "content": None, "tool_calls": [{"name": "terminal", "arguments": "./b.py"}]},
            {"role": "tool", "tool_name": "terminal", "content": "git"},
            {"role": "user", "content": ["git"]},
        ]
    ),
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=70, deadline=None)
@given(st.lists(st.lists(MESSAGE, max_size=4), min_size=2, max_size=5))
def test_reading_on_equals_reading_from_the_beginning(engine, growth):
    history = GrowingHistory()
    bookmarks = marks_of(history, engine)
    for messages in growth:
        history.say("s", *messages)
        assert counted(bookmarks, history) == scanner(engine).contribution(history.rows["s"])


def test_only_new_rows_are_read():
    history = GrowingHistory()
    bookmarks = marks_of(history)
    history.say("s", "error.", "ok.", "codex!")
    counted(bookmarks, history)
    history.say("s", "more.")
    counted(bookmarks, history)
    history.say("s", "and more.")
    assert bookmarks.rows_ahead(history.facts["s"]) == 1
    counted(bookmarks, history)
    assert history.reads == [("s", 0), ("s", 3), ("s", 4)]


def test_a_message_that_may_go_on_in_the_next_is_read_again():
    history = GrowingHistory()
    bookmarks = marks_of(history)
    history.say("s", "fine.", "now git", "")
    counted(bookmarks, history)
    history.say("s", "push")
    assert dict(zip(BOOK.fields, counted(bookmarks, history).values, strict=True))["git_events"] == 1
    assert history.reads == [("s", 0), ("s", 1)]


@pytest.mark.parametrize("what", ["a rewind", "a removed row", "rows that are gone"])
def test_a_session_that_did_more_than_grow_is_read_from_its_beginning(what):
    history = GrowingHistory()
    bookmarks = marks_of(history)
    history.say("s", "error.", "error.", "error.")
    counted(bookmarks, history)
    history.say("s", "more.")
    rows, facts = history.rows["s"], history.facts["s"]
    if what == "a rewind":
        history.rows["s"], history.facts["s"] = [*rows[:1], rows[3]], replace(facts, rewinds=1, active_rows=2)
    elif what == "a removed row":
        history.rows["s"], history.facts["s"] = rows[1:], replace(facts, active_rows=3)
    else:
        history.rows["s"], history.facts["s"] = rows[2:], replace(facts, active_rows=2, rows=2)
    assert counted(bookmarks, history) == scanner().contribution(history.rows["s"])
    assert history.reads[-1] == ("s", 0)


def test_a_damaged_session_is_said_and_the_next_one_is_read():
    history = GrowingHistory()
    for session in ("a", "b"):
        history.say(session, "error.")
    read = history.rows_after
    history.rows_after = lambda session, row: read(session, row) if session == "b" else _broken()
    found = dict(marks_of(history).count([history.facts["a"], history.facts["b"]]))
    assert found == {"a": None, "b": scanner().contribution(history.rows["b"])}


def _broken():
    raise StoreCorrupt("a page is gone")


def test_old_bookmarks_make_room_for_new_ones():
    history = GrowingHistory()
    bookmarks = marks_of(history)
    for number in range(MOST + 1):
        history.say(f"s{number}", "x.")
        counted(bookmarks, history, f"s{number}")
    assert (bookmarks.rows_ahead(history.facts["s0"]), bookmarks.rows_ahead(history.facts["s1"])) == (1, 0)


def test_nothing_is_remembered_of_sessions_that_are_gone():
    history = GrowingHistory()
    bookmarks = marks_of(history)
    for session in ("a", "b"):
        history.say(session, "x.")
        counted(bookmarks, history, session)
    bookmarks.keep({"b"})
    assert (bookmarks.rows_ahead(history.facts["a"]), bookmarks.rows_ahead(history.facts["b"])) == (1, 0)


def test_a_history_that_cannot_read_on_is_read_from_the_beginning():
    history = ListedHistory()
    history.put("s", "error")
    bookmarks = Bookmarks(BOOK, history, scanner)
    assert [counted(bookmarks, history) for _ in range(2)] == [scanner().contribution(history.rows["s"])] * 2
    assert history.reads == ["s", "s"]


@pytest.mark.parametrize("pattern", ["a[..][ws*]b", "x[id+][ws+]y", "[ws+]z"])
def test_where_spaces_may_follow_anything_nothing_is_read_on(pattern):
    book = BOOK.extended([MetricRule(key="mine", pattern=WordPattern((pattern,)))], [])
    assert joints(BOOK) is not None
    assert joints(book) is None
