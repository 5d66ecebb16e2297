"""One scan at a time, whoever asks; the last good answer whatever happens."""

from __future__ import annotations

import threading
import time

import pytest

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.job import ScanSettings
from sojourn.achievements.service import AchievementsService, ScanFailed
from sojourn.achievements.shelf import FolderShelf
from sojourn.core.errors import SourceUnreadable
from tests.unit.achievements.worlds import BOOK, ListedHistory, scanner


class World:
    """A history, a clock that is turned by hand, and everything between them and an answer."""

    def __init__(self, folder, **settings):
        self.folder, self.now = folder, 1_000_000.0
        self.history = ListedHistory()
        for number in range(6):
            self.history.put(f"s{number}", "error", started_at=1000.0 + number, model="ollama/x")
        self.settings = ScanSettings(workers=1, **settings)
        self.start()

    def start(self):
        """As after a restart: everything that was only in memory is gone."""
        self.scans = ScanCoordinator(
            self.history,
            FolderShelf(self.folder),
            book=BOOK,
            settings=self.settings,
            scanner=scanner,
            clock=lambda: self.now,
        )
        self.badges = AchievementsService(self.scans, clock=lambda: self.now)

    def scan(self, **options):
        self.scans.run_if_needed(force=True, wait=10, **options)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.scans.close()


def test_a_hundred_first_questions_make_one_scan(world):
    world.history.slow = 0.02
    start = threading.Barrier(100)

    def ask():
        start.wait()
        world.badges.achievements()

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.scans.run_if_needed(wait=10)
    status = world.scans.get_status()
    assert status["run_count"] == 1
    assert status["dedupe_hits"] >= 1
    assert sorted(world.history.reads) == [f"s{n}" for n in range(6)]


def test_before_the_first_scan_the_answer_is_complete_but_empty(world):
    world.history.slow = 0.05
    answer = world.badges.achievements()
    assert (answer["serving_state"], answer["is_stale"], answer["scan_meta"]["mode"]) == ("SCANNING", True, "pending")
    assert len(answer["achievements"]) == answer["total_count"] == 60
    assert (answer["unlocked_count"], answer["discovered_count"], answer["secret_count"]) == (0, 52, 8)


def test_a_first_question_may_wait_for_its_answer(world):
    answer = world.badges.achievements(wait=10)
    assert (answer["serving_state"], answer["is_stale"]) == ("FRESH", False)
    assert answer["unlocked_count"] == 1


def test_a_stale_answer_is_given_at_once_and_refreshed_behind_it(world):
    world.scan()
    world.now += 121
    world.history.put("s9", "error", started_at=2000.0)
    stale = world.badges.achievements()
    assert (stale["serving_state"], stale["is_stale"]) == ("STALE", True)
    world.scans.run_if_needed(wait=10)
    fresh = world.badges.achievements()
    assert (fresh["serving_state"], fresh["is_stale"]) == ("FRESH", False)
    assert world.scans.get_status()["stale_served"] == 1


def test_a_failure_leaves_the_last_good_answer_and_says_why(world):
    world.scan()
    world.history.error = SourceUnreadable("the disk fell out")
    world.now += 121
    world.badges.achievements()
    world.scans.run_if_needed(wait=10)
    answer = world.badges.achievements()
    assert (answer["serving_state"], answer["is_stale"], answer["error"]) == ("FAILED", True, "the disk fell out")
    assert answer["unlocked_count"] == 1


def test_after_a_failure_the_next_try_waits_longer_each_time(world):
    world.history.error = SourceUnreadable("gone")
    waits = []
    for _ in range(3):
        world.scan()
        waits.append(world.scans.get_status()["next_try_at"] - int(world.now))
        assert not world.scans.run_if_needed()
    assert waits == [5, 10, 20]
    world.now += 20
    assert world.scans.run_if_needed(wait=10)


def test_a_first_scan_that_fails_is_an_error_also_after_a_restart(world):
    world.history.error = SourceUnreadable("gone")
    world.scan()
    with pytest.raises(ScanFailed, match="gone"):
        world.badges.achievements()
    world.start()
    with pytest.raises(ScanFailed, match="gone"):
        world.badges.achievements()
    assert (world.badges.scan_status()["state"], world.badges.scan_status()["last_error"]) == ("failed", "gone")
    assert world.badges.scan_status()["failure_count"] == 1


def test_partial_answers_are_shown_but_never_kept(tmp_path):
    world = World(tmp_path, progress_every=2)
    world.history.slow = 0.1
    world.scans.run_if_needed()
    seen = []
    while world.scans.is_running:
        answer = world.badges.achievements()
        if answer["scan_meta"]["mode"] == "in_progress":
            meta = answer["scan_meta"]
            seen.append((meta["sessions_scanned_so_far"], meta["sessions_expected_total"]))
            unlocked = [badge for badge in answer["achievements"] if badge["unlocked"]]
            assert all(badge["unlocked_at"] is None for badge in unlocked)
            assert len(world.history.reads) == 6 or not (tmp_path / "state.json").exists()
        time.sleep(0.01)
    assert sorted(set(seen)) == [(2, 6), (4, 6)]
    world.scans.close()


def test_a_forced_rescan_that_waits_shows_no_partials(tmp_path):
    world = World(tmp_path, progress_every=2)
    world.history.slow = 0.03
    thread = threading.Thread(target=world.badges.rescan_and_wait)
    thread.start()
    modes = set()
    while thread.is_alive():
        modes.add(world.badges.achievements()["scan_meta"]["mode"])
        time.sleep(0.005)
    thread.join()
    assert "in_progress" not in modes
    world.scans.close()


def test_a_partial_never_replaces_a_good_answer(tmp_path):
    world = World(tmp_path, progress_every=2)
    world.scan()
    good = world.badges.achievements()["unlocked_count"]
    world.history.slow = 0.03
    world.scans.run_if_needed(full=True)
    while world.scans.is_running:
        answer = world.badges.achievements()
        assert answer["unlocked_count"] == good
        assert answer["scan_meta"]["mode"] != "in_progress"
        time.sleep(0.005)
    world.scans.close()


def test_a_full_scan_asked_for_during_another_one_comes_after_it(world):
    world.scan()
    world.history.put("s9", "error", started_at=2000.0)
    world.history.slow, world.history.reads = 0.02, []
    world.scans.run_if_needed(force=True)
    world.scans.run_if_needed(full=True, wait=10)
    assert not world.scans.is_running
    assert world.history.reads[0] == "s9"
    assert len(world.history.reads) == 1 + 7


def test_a_reset_forgets_dates_and_drops_the_running_scan(world):
    world.scan()
    world.history.slow = 0.05
    world.scans.run_if_needed(full=True)
    world.badges.reset()
    while world.scans.is_running:
        time.sleep(0.01)
    assert world.scans.snapshots.get() is None
    assert world.scans.get_status()["state"] == "idle"
    world.now += 1000
    world.history.slow = 0
    world.scan()
    assert world.badges.recent_unlocks()[0]["unlocked_at"] == int(world.now)


def test_two_processes_share_one_scan(world):
    other = ScanCoordinator(
        world.history,
        FolderShelf(world.folder),
        book=BOOK,
        settings=world.settings,
        scanner=scanner,
        clock=lambda: world.now,
    )
    world.history.slow = 0.02
    world.scans.run_if_needed()
    other.run_if_needed(wait=10)
    assert other.snapshots.get() is not None  # whoever waits has waited for the scan, wherever it ran
    while world.scans.is_running or other.is_running:
        time.sleep(0.01)
    assert len(world.history.reads) == 6
    assert other.snapshots.get() == world.scans.snapshots.get()
    assert world.scans.get_status()["run_count"] + other.get_status()["run_count"] == 1


def test_a_forced_scan_waits_for_that_of_another_process(world):
    lock = FolderShelf(world.folder).try_lock()
    assert lock is not None
    world.scans.run_if_needed(force=True, wait=0.3)
    assert (world.scans.is_running, world.history.reads) == (True, [])
    lock.release()
    world.scans.run_if_needed(wait=10)
    assert (world.scans.get_status()["run_count"], len(world.history.reads)) == (1, 6)


def test_a_scan_that_is_closed_goes_on_where_it_was(world):
    world.history.slow = 0.05
    world.scans.run_if_needed()
    while len(world.history.reads) < 3:
        time.sleep(0.005)
    world.scans.close()
    done = len(world.history.reads)
    world.start()
    world.history.slow = 0
    world.scan()
    assert len(world.history.reads) <= 6 + 1
    assert done >= 3


def test_the_badges_of_a_session_are_those_it_would_earn_alone(world):
    world.scan()
    earned = world.badges.session_badges("s0")
    assert [badge["id"] for badge in earned["badges"]] == ["open_weights_pilgrim"]
    assert "unlocked_at" not in earned["badges"][0]
    assert world.badges.session_badges("nobody") == {"session_id": "nobody", "badges": []}
    world.start()  # after a restart the record of earlier scans answers
    assert world.badges.session_badges("s0") == earned


def test_a_reset_by_another_process_is_a_reset_for_this_one(world):
    def unlocked(badges):
        return {item["unlocked_at"] for item in badges.achievements()["achievements"] if item["unlocked"]}

    world.scan()
    here = world.scans, world.badges
    world.start()  # the other process
    world.badges.reset()
    world.scans.close()
    world.scans, world.badges = here
    world.now += 200
    world.scan()
    assert unlocked(world.badges) == {1_000_200}
    assert "1000200" in (world.folder / "state.json").read_text()
    assert world.scans.get_status()["state"] == "idle"


@pytest.mark.parametrize(
    "said", ['{"state": 5, "durations_ms": null, "run_count": "x", "next_try_at": []}', "[]", "7", "{"]
)
def test_a_status_file_of_another_shape_stops_nothing(world, said):
    world.folder.mkdir(exist_ok=True)
    (world.folder / "scan_status.json").write_text(said)
    world.start()
    world.scan()
    status = world.scans.get_status()
    assert (status["state"], status["run_count"], world.scans.is_running) == ("idle", 1, False)


def test_a_clock_that_is_turned_back_does_not_put_off_the_next_try(world):
    world.history.error = SourceUnreadable("gone")
    world.scan()
    world.history.error = None
    assert not world.scans.run_if_needed()
    world.now -= 86_400
    assert world.scans.run_if_needed(wait=10)
    assert world.scans.get_status()["state"] == "idle"
