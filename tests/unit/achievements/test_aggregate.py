"""However a ledger came to what it holds, it tells the same."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.session_cache import CacheRecord
from tests.unit.achievements.worlds import BOOK, ListedHistory, scanner

TEXTS = ["error in codex", "git push", "missing env", "./a.py ./b.py", "skill ok", ""]
# (which session, its words; none: it goes; when it started)
STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.sampled_from(TEXTS), max_size=3), st.sampled_from([1.0, 2.0])), max_size=8
)


def record_of(history: ListedHistory, session: str) -> CacheRecord:
    return CacheRecord(history.facts[session], scanner().count_session(history.rows[session]))


def told(ledger: SessionAggregate):
    bests = [ledger.best(total.key) for total in BOOK.totals]
    return ledger.totals(), bests, [record.facts.id for record in ledger], ledger.problems


@settings(max_examples=80, deadline=None)
@given(STEPS, st.sampled_from([1, 2, 3]))
def test_a_ledger_that_was_changed_equals_one_made_of_what_it_holds(steps, at_once):
    """Sessions come, change and go, one by one or several at once; records are held by the first among equals."""
    history, ledger = ListedHistory(), SessionAggregate(BOOK)
    for start in range(0, len(steps), at_once):
        come, gone = set(), set()
        for number, texts, started_at in steps[start : start + at_once]:
            session = f"s{number}"
            come.discard(session)
            gone.discard(session)
            if texts:
                history.put(session, *texts, started_at=started_at)
                come.add(session)
            else:
                gone.add(session)
        ledger.change([record_of(history, one) for one in come], gone)
        for session in gone:
            history.facts.pop(session, None)
        assert {record.facts.id for record in ledger} == set(history.facts)
        assert told(ledger) == told(SessionAggregate(BOOK, [record_of(history, one) for one in history.facts]))


def test_sessions_stand_in_scan_order_also_those_that_started_at_no_time():
    history = ListedHistory()
    for session, started_at in {"a": 5.0, "b": None, "c": "10:05", "d": 7.0, "e": 7.0, "f": "10:0"}.items():
        history.put(session, "x")
        history.facts[session] = replace(history.facts[session], started_at=started_at)
    ledger = SessionAggregate(BOOK, [record_of(history, one) for one in "fedcba"])
    assert [record.facts.id for record in ledger] == ["c", "f", "d", "e", "a", "b"]  # as the database orders them


def test_who_held_a_record_and_fell_loses_it():
    history, ledger = ListedHistory(), SessionAggregate(BOOK)
    for session, texts in {"long": ["x"] * 9, "short": ["x"] * 4}.items():
        history.put(session, *texts)
        ledger.change([record_of(history, session)])
    assert ledger.best("max_messages_in_session") == (ledger.get("long"), 9)
    history.put("long", "x")
    ledger.change([record_of(history, "long")])
    assert ledger.best("max_messages_in_session") == (ledger.get("short"), 4)
    ledger.change([], ["short", "nobody"])
    assert ledger.best("max_messages_in_session") == (ledger.get("long"), 1)
