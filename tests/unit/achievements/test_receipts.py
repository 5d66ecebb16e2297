"""Receipts show the very words that counted."""

from __future__ import annotations

import pytest

from sojourn.achievements.receipts import find_receipts
from sojourn.achievements.scan import scan_sessions
from sojourn.core.errors import BadInput
from tests.unit.achievements.worlds import BOOK, ListedHistory, raw, scanner

BADGES = {badge.id: badge for badge in BOOK.achievements}


@pytest.fixture
def history():
    made = ListedHistory()
    made.put("old", "nothing here", "use Codex — or codex!", started_at=1.0, title="Old one")
    made.put("new", "CODEX " * 3, "é" * 300 + " codex", started_at=2.0)
    return made


def shown(history, badge, **options):
    records = scan_sessions(history, BOOK, workers=1, scanner=scanner).records
    return find_receipts(BOOK, BADGES[badge], records, history, **options)


def test_every_counting_message_is_shown_newest_session_first(history):
    receipts, following = shown(history, "codex_conjurer")
    assert [(one["session_id"], one["row"]) for one in receipts] == [("new", 1), ("new", 2), ("old", 2)]
    assert following == ""


def test_the_words_that_counted_are_marked(history):
    for one in shown(history, "codex_conjurer")[0]:
        assert one["highlights"]
        assert {one["excerpt"][start:stop].lower() for start, stop in one["highlights"]} == {"codex"}


def test_a_receipt_names_the_message_where_a_history_numbers_them(history):
    assert "seq" not in shown(history, "codex_conjurer")[0][0]
    history.find_seqs = lambda rows: {row: 10 * row for row in rows}
    assert [(one["row"], one["seq"]) for one in shown(history, "codex_conjurer")[0]] == [(1, 10), (2, 20), (2, 20)]


def test_an_excerpt_ends_between_words(history):
    history.put("new", "alphabet " * 40 + "codex" + " wonderful" * 40, started_at=2.0)
    words = shown(history, "codex_conjurer")[0][0]["excerpt"].split()
    assert set(words) == {"alphabet", "codex", "wonderful"}


def test_pages_follow_each_other(history):
    seen, after = [], ""
    while True:
        receipts, after = shown(history, "codex_conjurer", after=after, limit=1)
        seen += [(one["session_id"], one["row"]) for one in receipts]
        if not after:
            break
    assert seen == [("new", 1), ("new", 2), ("old", 2)]


def test_a_tool_badge_shows_the_calls(history):
    history.rows["new"] = raw([{"role": "assistant", "tool_calls": [{"name": "terminal"}, {"name": "patch"}]}])
    receipts, _ = shown(history, "terminal_goblin")
    assert [(one["kind"], one["tools"]) for one in receipts] == [("tool", ["terminal"])]


def test_a_record_badge_shows_the_session_that_holds_it(history):
    history.rows["old"] = raw([{"role": "assistant", "tool_calls": [{"name": "terminal"}] * 3}])
    history.rows["new"] = raw([{"role": "assistant", "tool_calls": [{"name": "terminal"}]}])
    assert [one["session_id"] for one in shown(history, "let_him_cook")[0]] == ["old"]


def test_a_badge_for_sessions_shows_sessions(history):
    receipts, _ = shown(history, "marathon_operator")
    assert [(one["kind"], one["title"]) for one in receipts] == [
        ("session", "CODEX CODEX CODEX "),
        ("session", "Old one"),
    ]


def test_one_swallowed_line_is_marked_without_showing_all_of_it(history):
    history.put("new", "missing " + "x" * 5000 + " env", started_at=2.0)
    only = shown(history, "forgot_the_env_var")[0][0]
    assert len(only["excerpt"]) < 500
    assert only["highlights"][0][0] == 0


@pytest.mark.parametrize("place", ["nonsense", "s:", ":1", "new:²", "new:" + "9" * 5000])
def test_a_place_that_does_not_exist_is_refused(history, place):
    with pytest.raises(BadInput):
        shown(history, "codex_conjurer", after=place)
