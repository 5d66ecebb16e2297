"""Does it help? Sessions with a template beside those without."""

import pytest

from sojourn.core.messages import assistant, user
from sojourn.templates.effectiveness import SessionOutcome, compare_outcomes
from sojourn.templates.inject import to_example_messages
from sojourn.templates.model import TaskType
from tests.unit.templates.test_inject import TEMPLATE
from tests.unit.templates.worlds import BAD, did, ran


def many(count, *, templates=(), status="completed", turns=2, tokens=100, dropped=(), failed=0):
    return [
        SessionOutcome(
            session=f"{templates}{n}",
            templates=templates,
            status=status,
            turns=turns,
            tokens=tokens,
            calls=4,
            failed=failed,
            tools={"terminal": 4},
            dropped=dropped,
        )
        for n in range(count)
    ]


def verdict(with_it, without):
    [found] = compare_outcomes({"t": TaskType.TERMINAL}, [*with_it, *without])
    return found


def test_a_turn_adds_what_happened_in_it_and_examples_count_for_nothing():
    kept = [
        user("go"),
        *to_example_messages(TEMPLATE),
        *ran("ls", id="1"),
        *did("patch", {}, BAD, id="2"),
        assistant("done"),
    ]
    made = SessionOutcome(session="s").after(kept, "completed").after([user("thanks")], "failed")
    assert (made.turns, made.calls, made.failed, made.status) == (2, 2, 1, "failed")
    assert made.tools == {"terminal": 1, "patch": 1}
    assert made.tokens > 0
    assert SessionOutcome.from_dict(made.to_dict()) == made


@pytest.mark.parametrize(
    ("with_it", "without", "expected"),
    [
        (many(4, templates=("t",)), many(9), "too early to say"),
        (many(9, templates=("t",)), many(4), "too early to say"),
        (many(6, templates=("t",), turns=1), many(6), "it pays"),
        (many(6, templates=("t",), status="failed"), many(6), "retire: sessions with it succeed less often"),
        (many(6, templates=("t",), failed=3), many(6), "retire: sessions with it succeed less often"),
        (many(6, templates=("t",)), many(6), "retire: sessions with it are not better, shorter or cheaper"),
        (many(6, templates=("t",), turns=1) + many(9, dropped=("t",)), many(6), "retire: it is mostly dropped"),
        (many(9, dropped=("t",)), [], "retire: it is mostly dropped"),
        (many(3, dropped=("t",)), [], "too early to say"),
    ],
)
def test_the_verdict_follows_from_the_figures(with_it, without, expected):
    found = verdict(with_it, without)
    assert found.verdict == expected
    assert found.retires == expected.startswith("retire")


def test_sessions_of_another_type_are_no_comparison():
    other = [SessionOutcome(session="x", status="completed", turns=9, tools={"patch": 3})] * 9
    assert verdict(many(6, templates=("t",)), other).without.sessions == 0
