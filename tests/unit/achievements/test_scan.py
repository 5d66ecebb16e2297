"""Scanning in pieces equals scanning at once, and only what changed is read again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.scan import scan_sessions, start_workers
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.session_cache import JOURNAL, NAME, CachedSession, Fingerprint, SessionCache
from sojourn.achievements.snapshot import SnapshotStore
from sojourn.core.errors import StoreCorrupt
from sojourn.importers.hermes_history import HermesHistory
from tests.unit.achievements.worlds import BOOK, ListedHistory, golden, scanner

TEXTS = ["error in codex", "git push", "missing env", "./a.py ./b.py", "skill ok", ""]
SETTINGS = ScanSettings(workers=1)


def history_of(*sessions: list[str]) -> ListedHistory:
    history = ListedHistory()
    for number, texts in enumerate(sessions):
        history.put(f"s{number}", *texts, started_at=1000.0 + number)
    return history


def scan(history, **options):
    return scan_sessions(history, BOOK, workers=1, scanner=scanner, **options)


def totals(book, records):
    return SessionAggregate(book, records).totals()


def known_of(result):
    return {one.facts.id: CachedSession(Fingerprint.of(one.facts), one.contribution) for one in result.records}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(TEXTS), max_size=4), max_size=6), st.integers(0, 6))
def test_scanning_in_pieces_equals_scanning_at_once(sessions, cut):
    first = scan(history_of(*sessions[:cut]))
    pieces = scan(history_of(*sessions), known=known_of(first))
    at_once = scan(history_of(*sessions))
    assert totals(BOOK, pieces.records) == totals(BOOK, at_once.records)
    assert len(pieces.records) - pieces.rescanned == len(first.records)


def test_only_new_and_changed_sessions_are_read_again():
    history = history_of(["a"], ["b"], ["c"])
    first = scan(history)
    history.put("s1", "b", "more", started_at=1001.0)
    history.put("s9", "new", started_at=2000.0)
    history.reads.clear()
    second = scan(history, known=known_of(first))
    assert sorted(history.reads) == ["s1", "s9"]
    assert (second.rescanned, len(second.records)) == (2, 4)


def test_a_rewind_is_seen_although_no_message_came():
    history = history_of(["error", "error"])
    first = scan(history)
    history.rows["s0"].pop()
    history.facts["s0"] = replace(history.facts["s0"], active_rows=1, rewinds=1)
    assert totals(BOOK, scan(history, known=known_of(first)).records)["total_errors"] == 1


def test_a_new_title_changes_nothing():
    history = history_of(["a"])
    first = scan(history)
    history.facts["s0"] = replace(history.facts["s0"], title="renamed")
    assert scan(history, known=known_of(first)).rescanned == 0


def test_archived_sessions_do_not_count():
    history = history_of(["error"], ["error"])
    history.facts["s1"] = replace(history.facts["s1"], archived=True)
    assert totals(BOOK, scan(history).records)["total_errors"] == 1


def test_more_than_the_first_two_hundred_sessions_count():
    history = history_of(*[["error"]] * 205)
    assert totals(BOOK, scan(history).records)["total_errors"] == 205


def test_other_processes_count_the_same(tmp_path):
    home, _ = golden("tiny", tmp_path)
    history = HermesHistory(home)
    here = scan(history)
    for gentle in (False, True):
        there = scan_sessions(history, BOOK, workers=2, in_process_rows=0, gentle=gentle)
        assert there.records == here.records


def test_processes_started_for_a_large_history_are_let_go_when_there_is_little_to_read(tmp_path, monkeypatch):
    home, _ = golden("tiny", tmp_path)
    history, crews = HermesHistory(home), []
    monkeypatch.setattr("sojourn.achievements.scan.PARALLEL_FROM_BYTES", 0)
    monkeypatch.setattr(
        "sojourn.achievements.scan.start_workers", lambda *a, **k: crews.append(start_workers(*a, **k)) or crews[-1]
    )
    assert scan_sessions(history, BOOK, workers=2).records == scan(history).records
    assert scan_sessions(history, BOOK, workers=2, known=known_of(scan(history))).rescanned == 0
    assert len(crews) == 1  # none the second time: what is known is not read
    with pytest.raises(RuntimeError):
        next(crews[0].map(print, [("s", 1)]))


def test_the_limit_takes_the_newest():
    result = scan(history_of(["a"], ["b"], ["c"]), limit=2)
    assert [one.facts.id for one in result.records] == ["s2", "s1"]
    assert len(scan(history_of(["a"], ["b"]), limit=0).records) == 2


def test_progress_is_told_every_so_many_sessions_but_not_at_the_end():
    seen = []

    def note_progress(counted, expected):
        seen.append((len(counted), expected))

    scan(history_of(*[["x"]] * 6), progress_callback=note_progress, progress_every=3)
    assert seen == [(3, 6)]


def test_one_damaged_session_does_not_end_the_scan():
    history = history_of(["error"], ["error"], ["error"])
    read = history.messages

    def messages(sessions):
        for session in sessions:
            if session == "s1":
                raise StoreCorrupt("a page is gone")
            yield from read([session])

    history.messages = messages
    result = scan(history)
    assert result.damaged == ("s1",)
    assert totals(BOOK, result.records)["total_errors"] == 2


def test_malformed_rows_are_counted_and_the_rest_of_them_still_counts():
    history = history_of(["x"])
    broken = [
        (1, b"tool", b"\xff\xfe error \xc3(", False, None, b"terminal"),
        (2, b"assistant", b"x", False, b"5", None),
        (3, b"assistant", b"x", False, b'[{"function": "terminal"}, {"name": "patch"}]', None),
        (4, b"assistant", b"x", False, b'[{"name": 7}]', None),
        (5, b"assistant", b"x", False, b"[" * 100_000, None),
        (6, b"assistant", b"ok", False, b"\xff", None),
    ]
    history.rows["s0"] = broken
    result = scan(history)
    found = totals(BOOK, result.records)
    assert SessionAggregate(BOOK, result.records).problems >= 5
    assert (found["total_errors"], found["total_patch_calls"], found["test_events"]) == (1, 1, 1)


# -- what is kept ---------------------------------------------------------------


def test_a_killed_scan_goes_on_where_it_was(tmp_path):
    history = history_of(*[["error"]] * 10)
    documents = FolderStore(tmp_path)
    checkpoint = SessionCache(documents, BOOK)
    checkpoint.load()
    scan(history, on_counted=checkpoint.add)  # killed before anything was folded
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.write(b'{"s9": {"finger')  # in the middle of a line
    history.reads.clear()
    history.put("new", "error", started_at=9.0)
    outcome = ScanJob(history, documents, BOOK, SETTINGS, scanner).run()
    assert history.reads == ["new"]
    assert outcome.snapshot["aggregate"]["total_errors"] == 11
    again = SessionCache(documents, BOOK)
    again.load()
    assert len(again.sessions) == 11


def test_a_journal_after_a_torn_one_is_read(tmp_path):
    history, documents = history_of(*[["error"]] * 3), FolderStore(tmp_path)
    checkpoint = SessionCache(documents, BOOK)
    checkpoint.load()
    scan(history, on_counted=checkpoint.add)
    with (tmp_path / JOURNAL).open("ab") as journal:
        journal.write(b'{"s9": {"finger')
    next_one = SessionCache(documents, BOOK)  # a process that finds nothing new, and folds
    next_one.load()
    next_one.compact({"s0", "s1", "s2"}, 1)
    next_one.add({"new": next_one.sessions["s0"]})  # and is killed after the next session
    again = SessionCache(documents, BOOK)
    again.load()
    assert set(again.sessions) == {"s0", "s1", "s2", "new"}


def kept_scan(history, folder):
    job = ScanJob(history, FolderStore(folder), BOOK, SETTINGS, scanner)
    outcome = job.run()
    job.save(outcome, SnapshotStore(FolderStore(folder)))
    return outcome


def test_a_finished_scan_is_one_document(tmp_path):
    kept_scan(history_of(["error"], ["codex"]), tmp_path)
    import json

    document = json.loads((tmp_path / NAME).read_text())
    assert document["schema_version"] == 2
    assert document["sessions"]["s1"]["contribution"]["metrics"]["codex_events"] == 1
    assert document["sessions"]["s1"]["fingerprint"]["message_count"] == 1
    assert not (tmp_path / JOURNAL).exists()


def test_other_rules_read_everything_again(tmp_path):
    history = history_of(["error"])
    kept_scan(history, tmp_path)
    history.reads.clear()
    other = BOOK.extend([replace(BOOK.metrics[0], key="mine")], [])
    ScanJob(history, FolderStore(tmp_path), other, SETTINGS).run()
    assert history.reads == ["s0"]


def test_a_corrupt_checkpoint_is_counted_again(tmp_path):
    history = history_of(["error"], ["error"])
    before = kept_scan(history, tmp_path)
    for name in (NAME, NAME + ".last"):
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:70])
    after = kept_scan(history, tmp_path)
    assert after.snapshot["aggregate"] == before.snapshot["aggregate"]
    assert after.unlocks == before.unlocks


def test_sessions_that_are_gone_leave_the_record(tmp_path):
    history = history_of(["error"], ["error"])
    kept_scan(history, tmp_path)
    history.drop("s0")
    kept_scan(history, tmp_path)
    checkpoint = SessionCache(FolderStore(tmp_path), BOOK)
    checkpoint.load()
    assert list(checkpoint.sessions) == ["s1"]


def test_nothing_new_is_found_without_listing_anything(tmp_path):
    history = history_of(["error"])
    job = ScanJob(history, FolderStore(tmp_path), BOOK, SETTINGS, scanner)
    job.run()
    history.sessions = None  # would fail if it were asked
    outcome = job.run(now=lambda: 5_000_000_000)
    assert not outcome.is_new
    assert outcome.snapshot["generated_at"] == 5_000_000_000
    assert outcome.snapshot["scan_meta"]["sessions_reused"] == 1


def test_a_full_scan_reads_what_it_knows(tmp_path):
    history = history_of(["error"])
    job = ScanJob(history, FolderStore(tmp_path), BOOK, SETTINGS, scanner)
    job.run()
    history.reads.clear()
    assert job.run(full=True).snapshot["scan_meta"]["mode"] == "full"
    assert history.reads == ["s0"]
