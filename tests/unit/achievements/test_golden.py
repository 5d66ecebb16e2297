"""The golden histories give exactly the numbers that the original gave."""

from __future__ import annotations

import pytest

from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.snapshot import build_session_rows
from sojourn.importers.hermes_history import HermesHistory
from tests.unit.achievements.worlds import BOOK, golden, scanner, time_zone

COMPARED = (
    *("state", "unlocked", "discovered", "tier", "next_tier", "progress", "next_threshold", "progress_pct"),
    "evidence",
)
COUNTS = ("unlocked_count", "discovered_count", "secret_count", "total_count")


@pytest.mark.parametrize("name", ["tiny", "mixed", "edges"])
def test_every_number_of_a_golden_history_is_the_same(name, tmp_path):
    home, expected = golden(name, tmp_path / "home")
    history = HermesHistory(home)
    with time_zone(expected["tz"]):
        outcome = ScanJob(history, FolderStore(tmp_path / "scans"), BOOK, ScanSettings(workers=1), scanner).run()
    rows = {row["session_id"]: row for row in build_session_rows(BOOK, outcome.records, history.previews)}
    assert rows == {row["session_id"]: row for row in expected["sessions"]}
    assert outcome.snapshot["aggregate"] == expected["aggregate"]
    assert {key: outcome.snapshot[key] for key in COUNTS} == expected["counts"]
    for badge in outcome.snapshot["achievements"]:
        wanted = expected["achievements"][badge["id"]]
        assert {key: badge[key] for key in COMPARED if key in badge} == wanted, badge["id"]


def test_reading_a_golden_home_leaves_nothing_behind(tmp_path):
    home, _ = golden("tiny", tmp_path / "home")
    history = HermesHistory(home)
    history.sessions()
    history.close()
    assert [path.name for path in home.iterdir()] == ["state.db"]
