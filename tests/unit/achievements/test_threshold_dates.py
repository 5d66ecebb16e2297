"""When a badge was reached: the first session, oldest first, after which its total was large enough."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.evaluate import evaluate_badge
from sojourn.achievements.scan import scan_sessions
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.snapshot import SnapshotStore
from sojourn.achievements.threshold_dates import ThresholdDates
from sojourn.core.errors import StoreCorrupt
from tests.unit.achievements.worlds import BOOK, ListedHistory, scanner

OURS = ScanSettings(workers=1, is_ours=True)
DAY = 86_400.0
MODELS = ("openai/gpt-5", "anthropic/claude", "ollama/qwen", "mistral-large", None)


def make_job(history, folder, settings=OURS):
    return ScanJob(history, FolderStore(folder), BOOK, settings, scanner)


def badge(outcome, name):
    return next(one for one in outcome.snapshot["achievements"] if one["id"] == name)


def busy_history(seed: int, sessions: int = 60) -> ListedHistory:
    chance, made = random.Random(seed), ListedHistory()
    for number in range(sessions):
        texts = [
            chance.choice(("codex", "error: it broke", "docker", "hello")) * 40 for _ in range(chance.randrange(6))
        ]
        started = chance.randrange(400) * DAY / 3 + 1
        made.put(f"s{number}", *texts, started_at=started, model=chance.choice(MODELS))
    return made


@pytest.mark.parametrize("seed", range(4))
def test_dates_are_those_of_counting_session_by_session(seed):
    records = scan_sessions(busy_history(seed), BOOK, workers=1, scanner=scanner).records
    whole = SessionAggregate(BOOK, records)
    unlocked = [one for one in BOOK.achievements if evaluate_badge(one, whole.totals()).unlocked]
    assert len(unlocked) > 3
    expected: dict[str, str] = {}
    counted = SessionAggregate(BOOK)
    for record in sorted(records, key=lambda one: (one.facts.started_at, one.facts.id)):
        counted.change([record])
        for one in unlocked:
            if one.id not in expected and evaluate_badge(one, counted.totals()).unlocked:
                expected[one.id] = record.facts.id
    found = ThresholdDates(BOOK).find_all(unlocked, whole)
    assert {name: facts.id for name, facts in found.items()} == expected


def test_changes_give_the_same_dates_as_a_new_count():
    history, chance = busy_history(9), random.Random(5)
    records = scan_sessions(history, BOOK, workers=1, scanner=scanner).records
    grown, dates = SessionAggregate(BOOK, records), ThresholdDates(BOOK)
    for step in range(12):
        unlocked = [one for one in BOOK.achievements if evaluate_badge(one, grown.totals()).unlocked]
        anew = SessionAggregate(BOOK, list(grown))
        assert dates.find_all(unlocked, grown) == ThresholdDates(BOOK).find_all(unlocked, anew)
        history.put(f"new{step}", *["codex error docker " * 9] * 4, started_at=chance.randrange(500) * DAY / 3)
        (new,) = (
            one
            for one in scan_sessions(history, BOOK, workers=1, scanner=scanner).records
            if one.facts.id == f"new{step}"
        )
        grown.change([new], [chance.choice([one.facts.id for one in grown])] if step % 2 else [])


def test_the_date_is_the_sessions_and_the_unlock_keeps_its_own(tmp_path):
    history = ListedHistory()
    for number in range(3):
        history.put(f"s{number}", "codex " * 200, started_at=(number + 1) * DAY)
    first = badge(make_job(history, tmp_path).run(now=lambda: 50 * DAY), "codex_conjurer")
    assert first["unlocked_at"] == 50 * DAY
    assert first["reached_at"] in (DAY, 2 * DAY, 3 * DAY)
    assert history.facts[first["reached_session_id"]].started_at == first["reached_at"]
    assert history.reads.count("s0") == 1  # no session is read again for its date


def test_a_foreign_history_and_a_partial_scan_have_no_dates(tmp_path):
    history = busy_history(3)
    plain = make_job(history, tmp_path / "a", replace(OURS, is_ours=False)).run()
    assert not any("reached_at" in one for one in plain.snapshot["achievements"])
    partials: list[dict] = []
    settings = replace(OURS, progress_every=10)
    outcome = make_job(history, tmp_path / "b", settings).run(on_partial=partials.append)
    assert partials
    assert not any("reached_at" in one for snapshot in partials for one in snapshot["achievements"])
    without = [
        {key: value for key, value in one.items() if not key.startswith("reached_")}
        for one in outcome.snapshot["achievements"]
    ]
    drop_time = [{**one, "unlocked_at": 0} for one in without]
    assert drop_time == [{**one, "unlocked_at": 0} for one in plain.snapshot["achievements"]]


def test_a_damaged_session_leaves_the_dates_out(tmp_path, monkeypatch):
    history = busy_history(3)
    read = history.messages

    def broken(sessions):
        for session in sessions:
            if session == "s7":
                raise StoreCorrupt("It is damaged.", hint="Restore it.")
            yield from read([session])

    monkeypatch.setattr(history, "messages", broken)
    outcome = make_job(history, tmp_path).run()
    assert outcome.snapshot["scan_meta"]["damaged_sessions"] == ["s7"]
    assert not any(one.get("reached_at") for one in outcome.snapshot["achievements"])


def test_an_unlocked_badge_stays_when_its_sessions_are_gone(tmp_path):
    history, store = ListedHistory(), SnapshotStore(FolderStore(tmp_path))
    history.put("s0", "codex " * 900, started_at=DAY)
    history.put("s1", "hello", started_at=2 * DAY)
    job = make_job(history, tmp_path)
    job.save(job.run(), store)
    history.drop("s0")
    after = job.run()
    kept = badge(after, "codex_conjurer")
    assert (kept["unlocked"], kept["state"], kept["progress"]) == (True, "unlocked", 0)
    assert (kept["reached_at"], kept["reached_session_id"]) == (None, None)
    assert kept["tier"] is not None
    assert after.snapshot["unlocked_count"] >= 1
