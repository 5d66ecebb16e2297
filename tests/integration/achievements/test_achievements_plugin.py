"""The achievements plugin over HTTP: what each route answers in each state of the cache, and what it never does."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from importlib.resources import files

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.plugin import plugin
from sojourn.achievements.plugin_api import routes
from sojourn.achievements.scan_job import ScanSettings
from sojourn.core.errors import SojournError, SourceUnreadable
from sojourn.http.problems import to_problem
from tests.unit.achievements.worlds import BOOK, ListedHistory, scanner

BASE = "/api/plugins/hermes-achievements"
ANSWER_KEYS = {
    "achievements",
    "unlocked_count",
    "discovered_count",
    "secret_count",
    "total_count",
    "error",
    "generated_at",
    "is_stale",
    "serving_state",
    "scan_meta",
}
META_KEYS = {
    "mode",
    "sessions_total",
    "sessions_rescanned",
    "sessions_reused",
    "sessions_scanned_so_far",
    "sessions_expected_total",
    "duration_ms",
    "sessions_scanned",
    "messages_scanned",
    "malformed_rows",
    "damaged_sessions",
    "error",
    "status",
}
STATUS_KEYS = {
    "state",
    "started_at",
    "finished_at",
    "last_error",
    "last_duration_ms",
    "run_count",
    "ttl_seconds",
    "snapshot_generated_at",
    "snapshot_age_seconds",
    "snapshot_stale",
    "failure_count",
    "dedupe_hits",
    "stale_served",
    "duration_avg_ms",
    "duration_p95_ms",
    "next_try_at",
    "sessions_scanned_so_far",
    "sessions_expected_total",
}
ITEM_KEYS = {
    "id",
    "name",
    "description",
    "category",
    "kind",
    "icon",
    "unlocked",
    "discovered",
    "state",
    "tier",
    "next_tier",
    "progress",
    "next_threshold",
    "progress_pct",
    "criteria",
}


class World:
    """A server with the plugin's routes, over a history in memory and a clock turned by hand."""

    def __init__(self, folder, sessions=6, **settings):
        self.folder, self.now = folder, 1_000_000.0
        self.history = ListedHistory()
        for number in range(sessions):
            self.history.put(f"s{number}", "error in codex", started_at=1000.0 + number, model="ollama/x")
        self.scans = ScanCoordinator(
            self.history,
            FolderStore(folder),
            book=BOOK,
            settings=ScanSettings(workers=1, **settings),
            scanner=scanner,
            clock=lambda: self.now,
        )
        app = FastAPI()
        app.include_router(routes(lambda: self.scans), prefix=BASE)

        @app.exception_handler(SojournError)
        async def problem(request: Request, error: SojournError):
            return to_problem(request.scope, error)

        self.client = TestClient(app)

    def get(self, path, **params):
        return self.client.get(f"{BASE}/{path}", params=params)

    def post(self, path, **params):
        return self.client.post(f"{BASE}/{path}", params=params)

    def settle(self):
        while self.scans.is_running:
            time.sleep(0.005)

    def fresh(self):
        self.post("rescan", wait="true")

    def stale(self):
        self.fresh()
        self.now += 121


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    with made.client:
        yield made


# -- what is answered -----------------------------------------------------------


def test_the_answer_has_exactly_the_agreed_keys(world):
    world.fresh()
    answer = world.get("achievements").json()
    assert set(answer) == ANSWER_KEYS
    assert set(answer["scan_meta"]) == META_KEYS
    assert set(answer["scan_meta"]["status"]) == STATUS_KEYS == set(world.get("scan-status").json())
    for item in answer["achievements"]:
        extra = {"requirements"} if item["kind"] == "multi_condition" else {"threshold_metric", "tiers"}
        extra |= {"secret"} if item.get("secret") else set()
        extra |= {"unlocked_at", "evidence"} if item["unlocked"] else set()
        assert set(item) == ITEM_KEYS | extra


def test_a_pending_answer_has_the_same_keys(world):
    world.history.slow = 0.05
    answer = world.get("achievements").json()
    assert set(answer) == ANSWER_KEYS
    assert set(answer["scan_meta"]) == META_KEYS
    assert (answer["serving_state"], answer["is_stale"], answer["total_count"]) == ("SCANNING", True, 60)
    world.settle()


def test_the_whole_history_counts_and_not_its_first_two_hundred_sessions(tmp_path):
    world = World(tmp_path, sessions=205)
    world.fresh()
    answer = world.get("achievements").json()
    progress = {item["id"]: item["progress"] for item in answer["achievements"]}
    assert progress["red_text_connoisseur"] == progress["marathon_operator"] == 205


def test_recent_unlocks_are_a_bare_list(world):
    world.fresh()
    assert [item["id"] for item in world.get("recent-unlocks").json()] == ["open_weights_pilgrim"]


def test_the_badges_of_a_session(world):
    world.fresh()
    answer = world.get("sessions/s0/badges").json()
    assert (answer["session_id"], [badge["id"] for badge in answer["badges"]]) == ("s0", ["open_weights_pilgrim"])
    assert world.get("sessions/nobody/badges").json() == {"session_id": "nobody", "badges": []}


def test_receipts_come_in_pages_with_highlights(world):
    world.fresh()
    page = world.get("achievements/codex_conjurer/receipts", limit=4).json()
    assert len(page["receipts"]) == 4
    first = page["receipts"][0]
    assert [first["excerpt"][start:end] for start, end in first["highlights"]] == ["codex"]
    rest = world.get("achievements/codex_conjurer/receipts", limit=4, after=page["next"]).json()
    assert (len(rest["receipts"]), rest["next"]) == (2, "")
    assert world.get("achievements/nonsense/receipts").status_code == 404


def test_a_wait_that_is_no_number_is_refused(world):
    assert world.get("achievements", wait="soon").status_code == 400


def test_there_is_no_overview(world):
    assert world.get("overview").status_code == 404


# -- state of the cache × route ---------------------------------------------------


def test_without_a_snapshot_a_question_starts_one_scan_in_the_background(world):
    world.history.slow = 0.02
    modes = {world.get("achievements").json()["scan_meta"]["mode"] for _ in range(5)}
    assert modes == {"pending"}
    world.settle()
    assert world.scans.get_status()["run_count"] == 1
    assert world.get("achievements").json()["serving_state"] == "FRESH"


def test_without_a_snapshot_a_question_may_wait(world):
    answer = world.get("achievements", wait=10).json()
    assert (answer["serving_state"], answer["unlocked_count"]) == ("FRESH", 1)


def test_a_fresh_snapshot_is_served_and_nothing_is_scanned(world):
    world.fresh()
    for path in ("achievements", "recent-unlocks", "sessions/s0/badges", "scan-status"):
        assert world.get(path).status_code == 200
    assert world.scans.get_status()["run_count"] == 1


@pytest.mark.parametrize("path", ["achievements", "recent-unlocks"])
def test_a_stale_snapshot_is_served_at_once_and_refreshed_behind_it(world, path):
    world.stale()
    world.history.slow = 0.02
    world.history.put("s9", "error", started_at=5000.0)
    assert world.get(path).status_code == 200
    world.settle()
    assert world.scans.get_status()["run_count"] == 2
    assert world.get("achievements").json()["is_stale"] is False


def test_a_stale_answer_says_that_it_is(world):
    world.stale()
    answer = world.get("achievements").json()
    assert (answer["serving_state"], answer["is_stale"]) == ("STALE", True)


@pytest.mark.parametrize("state", ["none", "fresh", "stale"])
def test_asking_for_the_status_never_starts_a_scan(world, state):
    {"none": lambda: None, "fresh": world.fresh, "stale": world.stale}[state]()
    before = world.get("scan-status").json()["run_count"]
    status = world.get("scan-status").json()
    assert (status["run_count"], status["state"]) == (before, "idle")
    assert status["snapshot_stale"] == (state != "fresh")


@pytest.mark.parametrize("state", ["none", "fresh", "stale"])
def test_a_rescan_is_started_in_every_state_and_answers_at_once(world, state):
    {"none": lambda: None, "fresh": world.fresh, "stale": world.stale}[state]()
    before = world.scans.get_status()["run_count"]
    answer = world.post("rescan")
    assert answer.status_code == 202
    assert set(answer.json()) == STATUS_KEYS
    world.settle()
    assert world.scans.get_status()["run_count"] == before + 1


def test_a_rescan_that_waits_answers_with_the_result(world):
    answer = world.post("rescan", wait="true")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["ok"], shown["unlocked_count"], shown["scan_meta"]["mode"]) == (True, 1, "full")


def test_a_full_rescan_reads_everything_again(world):
    world.fresh()
    world.history.reads.clear()
    world.post("rescan", wait="true")
    assert world.history.reads == []
    world.post("rescan", mode="full", wait="true")
    assert len(world.history.reads) == 6


def test_starting_a_scan_twice_is_starting_it_once(world):
    world.history.slow = 0.02
    for _ in range(5):
        world.post("rescan")
    world.settle()
    status = world.get("scan-status").json()
    assert status["run_count"] == 1
    assert status["dedupe_hits"] == 4


def test_a_hundred_first_questions_at_once_make_one_scan(world):
    world.history.slow = 0.01
    threads = [threading.Thread(target=world.get, args=("achievements",)) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    world.settle()
    assert world.scans.get_status()["run_count"] == 1


# -- partial snapshots --------------------------------------------------------------


def test_partial_snapshots_are_shown_and_never_kept_as_unlocks(tmp_path):
    world = World(tmp_path, progress_every=2)
    world.history.slow = 0.05
    world.post("rescan")
    seen = set()
    while world.scans.is_running and len(world.history.reads) < 6:
        answer = world.get("achievements").json()
        if answer["scan_meta"]["mode"] == "in_progress":
            seen.add((answer["scan_meta"]["sessions_scanned_so_far"], answer["scan_meta"]["sessions_expected_total"]))
            assert answer["is_stale"] is True
            assert all(item["unlocked_at"] is None for item in answer["achievements"] if item["unlocked"])
            assert len(world.history.reads) == 6 or not (tmp_path / "state.json").exists()
    assert seen <= {(2, 6), (4, 6)}
    assert seen
    world.settle()


# -- failure ------------------------------------------------------------------------


def test_a_first_scan_that_fails_is_a_503_with_the_reason(world):
    world.history.error = SourceUnreadable("the disk fell out")
    world.post("rescan", wait="true")
    answer = world.get("achievements")
    assert answer.status_code == 503
    assert "the disk fell out" in answer.json()["detail"]
    status = world.get("scan-status").json()
    assert (status["state"], status["last_error"], status["failure_count"]) == ("failed", "the disk fell out", 1)


def test_a_refresh_that_fails_leaves_the_last_good_answer_with_the_reason(world):
    world.fresh()
    world.history.error = SourceUnreadable("the disk fell out")
    world.now += 121
    world.get("achievements")
    world.settle()
    answer = world.get("achievements").json()
    assert (answer["serving_state"], answer["is_stale"], answer["error"]) == ("FAILED", True, "the disk fell out")
    assert answer["unlocked_count"] == 1
    assert answer["scan_meta"]["error"] == "the disk fell out"


def test_a_reset_forgets_and_the_next_question_begins_anew(world):
    world.fresh()
    assert world.post("reset-state").json() == {"ok": True}
    assert json.loads((world.folder / "state.json").read_text()) == {"unlocks": {}}
    assert world.get("achievements").json()["scan_meta"]["mode"] in ("pending", "full")
    world.settle()


KILLED = """
import sys
from pathlib import Path
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.scan_job import ScanSettings
from sojourn.achievements.document_store import FolderStore
from tests.unit.achievements.worlds import ListedHistory
history = ListedHistory()
for number in range(60):
    history.put(f"s{number}", "error", started_at=1000.0 + number)
history.slow = 0.02
ScanCoordinator(history, FolderStore(Path(sys.argv[1])), settings=ScanSettings(workers=1)).run_if_needed(wait=60)
"""


def test_a_scan_killed_in_the_middle_goes_on_where_it_was(tmp_path):
    world = World(tmp_path, sessions=60)
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    journal = tmp_path / "scan_journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < 20:
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    finished = journal.read_bytes().count(b"\n") - 1
    assert finished < 60
    for number in range(60):
        world.history.put(f"s{number}", "error", started_at=1000.0 + number)
    world.fresh()
    assert len(world.history.reads) == 60 - finished
    assert world.get("achievements").json()["scan_meta"]["sessions_reused"] == finished


# -- the manifest and the page ----------------------------------------------------------


def test_neither_manifest_nor_page_knows_slots_or_an_overview():
    dropin = files("sojourn.achievements") / "dropin"
    manifest = json.loads((dropin / "manifest.json").read_text())
    assert manifest["name"] == plugin.name == "hermes-achievements"
    assert "slots" not in manifest
    for name in ("manifest.json", "plugin_api.py", "dist/index.js"):
        text = (dropin / name).read_text().lower()
        assert "overview" not in text
        assert "slot" not in text
