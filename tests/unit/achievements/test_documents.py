"""What is written survives whatever happens to the file, and refusing disks cost the record, not the result."""

from __future__ import annotations

import json
import os

from sojourn.achievements import unlocks
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.factory import erase_from_documents
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.snapshot import SnapshotStore
from sojourn.achievements.unlocks import Unlock
from sojourn.badge_rules import MetricRule, tool_named
from tests.unit.achievements.worlds import BOOK, ListedHistory, scanner

RECORDS = {
    "let_him_cook": Unlock(1_700_000_000, "Copper", {"session_id": "s", "title": "t", "value": 201}),
    "full_send": Unlock(1_700_000_001),
}


def test_unlock_dates_survive_a_file_cut_to_any_length(tmp_path):
    documents = FolderStore(tmp_path)
    unlocks.save(documents, RECORDS)
    whole = (tmp_path / "state.json").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "state.json").write_bytes(whole[:length])
        assert unlocks.load(documents) == RECORDS


def test_nonsense_in_the_state_file_is_not_an_answer(tmp_path):
    documents = FolderStore(tmp_path)
    unlocks.save(documents, RECORDS)
    for nonsense in ("[]", '{"unlocks": null}', '{"unlocks": []}', "7", '{"unlocks": {"x": {}}}'):
        (tmp_path / "state.json").write_text(nonsense)
        assert unlocks.load(documents) == RECORDS


def test_a_damaged_state_file_is_mended_by_the_next_scan(tmp_path):
    history = ListedHistory()
    history.put("s", "hello", model="ollama/x")

    def scan():
        job = ScanJob(history, FolderStore(tmp_path), BOOK, ScanSettings(workers=1), scanner)
        job.save(job.run(), SnapshotStore(FolderStore(tmp_path)))

    scan()
    whole = (tmp_path / "state.json").read_bytes()
    (tmp_path / "state.json").write_bytes(b"")
    scan()
    assert (tmp_path / "state.json").read_bytes() == whole


def test_one_odd_record_does_not_cost_the_others(tmp_path):
    foreign = tmp_path / "state.json"
    odd = '"a": {}, "b": {"unlocked_at": null}, "c": {"unlocked_at": 1e999}, "d": {"unlocked_at": "soon"}, "e": 5'
    foreign.write_text('{"unlocks": {' + odd + ', "full_send": {"unlocked_at": 5}}}')
    assert unlocks.load(FolderStore(tmp_path / "ours"), inherited=foreign) == {"full_send": Unlock(5)}
    assert unlocks.load(FolderStore(tmp_path)) == {"full_send": Unlock(5)}


def test_a_disk_that_takes_a_part_at_a_time_gets_all_of_a_line(tmp_path, monkeypatch):
    whole = os.write
    monkeypatch.setattr("os.write", lambda file, data: whole(file, bytes(data)[:7]))
    FolderStore(tmp_path).append("a.jsonl", b"one line that is longer\n")
    assert (tmp_path / "a.jsonl").read_bytes() == b"one line that is longer\n"


def test_dates_of_another_program_count_where_we_have_none(tmp_path):
    foreign = tmp_path / "state.json"
    foreign.write_text(json.dumps({"unlocks": {"full_send": {"unlocked_at": 5}, "patch_wizard": {"unlocked_at": 6}}}))
    documents = FolderStore(tmp_path / "ours")
    unlocks.save(documents, RECORDS)
    found = unlocks.load(documents, inherited=foreign)
    assert found["full_send"].unlocked_at == 1_700_000_001
    assert found["patch_wizard"].unlocked_at == 6


def test_documents_are_for_their_owner_only(tmp_path):
    documents = FolderStore(tmp_path)
    documents.write("a.json", b"{}")
    documents.append("b.jsonl", b"{}\n")
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


def test_only_one_process_at_a_time_may_scan(tmp_path):
    one, other = FolderStore(tmp_path), FolderStore(tmp_path)
    lock = one.try_lock()
    assert lock is not None
    assert other.try_lock() is None
    lock.release()
    again = other.try_lock()
    assert again is not None
    again.release()


def worth_a_badge() -> ListedHistory:
    history = ListedHistory()
    history.put("s", "x", model="ollama/qwen")  # open_weights_pilgrim: one session is enough
    return history


class RefusingStore(FolderStore):
    """A disk that is full."""

    def write(self, name, data, *, durable=True):
        raise OSError(28, os.strerror(28))

    append = write


def test_a_full_disk_costs_the_record_but_not_the_result(tmp_path):
    documents = RefusingStore(tmp_path)
    store = SnapshotStore(documents)
    job = ScanJob(worth_a_badge(), documents, BOOK, ScanSettings(workers=1), scanner)
    job.save(job.run(now=lambda: 1000.0), store)
    shown = store.get()
    assert shown is not None
    assert "No space left" in shown["scan_meta"]["error"]
    assert shown["unlocked_count"] == 1


def test_an_unlock_that_could_not_be_written_keeps_its_date(tmp_path):
    documents = RefusingStore(tmp_path)
    history = worth_a_badge()
    job = ScanJob(history, documents, BOOK, ScanSettings(workers=1), scanner)
    job.save(job.run(now=lambda: 1000.0), SnapshotStore(documents))
    history.put("t", "x")
    again = job.run(now=lambda: 2000.0)
    assert again.unlocks["open_weights_pilgrim"].unlocked_at == 1000


def test_what_could_not_be_written_is_written_as_soon_as_it_can_be(tmp_path):
    documents = RefusingStore(tmp_path)
    job = ScanJob(worth_a_badge(), documents, BOOK, ScanSettings(workers=1), scanner)
    job.save(job.run(now=lambda: 1000.0), SnapshotStore(documents))
    documents.__class__ = FolderStore  # somebody made room
    job.save(job.run(now=lambda: 2000.0), SnapshotStore(documents))
    assert unlocks.load(documents)["open_weights_pilgrim"].unlocked_at == 1000


def test_a_badge_that_was_lost_comes_back_with_its_old_date(tmp_path):
    documents = FolderStore(tmp_path)
    history = worth_a_badge()
    job = ScanJob(history, documents, BOOK, ScanSettings(workers=1), scanner)
    store = SnapshotStore(documents)
    job.save(job.run(now=lambda: 1000.0), store)
    history.drop("s")
    lost = job.run(now=lambda: 2000.0)
    job.save(lost, store)
    badge = next(one for one in lost.snapshot["achievements"] if one["id"] == "open_weights_pilgrim")
    assert not badge["unlocked"]
    assert "unlocked_at" not in badge
    history.put("s", "x", model="ollama/qwen")
    back = job.run(now=lambda: 3000.0)
    badge = next(one for one in back.snapshot["achievements"] if one["id"] == "open_weights_pilgrim")
    assert badge["unlocked_at"] == 1000


def test_a_snapshot_written_by_another_process_is_seen(tmp_path):
    ours, theirs = SnapshotStore(FolderStore(tmp_path)), SnapshotStore(FolderStore(tmp_path))
    assert ours.get() is None
    theirs.set({"achievements": [], "generated_at": 7})
    assert ours.get() == {"achievements": [], "generated_at": 7, "sessions": []}


def test_a_snapshot_from_the_future_is_stale(tmp_path):
    store = SnapshotStore(FolderStore(tmp_path), clock=lambda: 1000.0)
    assert store.is_stale(120)
    for generated_at, stale in ((900, False), (800, True), (5000, True)):
        store.set({"achievements": [], "generated_at": generated_at})
        assert store.is_stale(120) == stale


def test_a_forgotten_session_leaves_no_trace_and_no_badge_loses_its_date(tmp_path):
    documents = FolderStore(tmp_path)
    history = ListedHistory()
    history.put("private", *["x"] * 300, title="A private matter")  # supposed_to_be_quick: 300 messages
    history.put("other", "x")
    book = BOOK.extend([MetricRule(key="plugin.calls", pattern=tool_named("terminal"))], [])  # of some plugin
    job = ScanJob(history, documents, book, ScanSettings(workers=1))
    job.save(job.run(now=lambda: 1000.0), SnapshotStore(documents))
    assert sorted(erase_from_documents(documents, book, "private")) == [
        "scan_checkpoint.json",
        "scan_snapshot.json",
        "state.json",
    ]
    assert not any(b"rivate" in path.read_bytes() for path in tmp_path.iterdir())
    assert unlocks.load(documents)["supposed_to_be_quick"].unlocked_at == 1000
    assert erase_from_documents(documents, book, "private") == []
