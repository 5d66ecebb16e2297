"""Badge parity after an import: with redaction off our own store gives the very numbers of the original."""

from __future__ import annotations

import pytest

from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.snapshot import build_session_rows
from sojourn.importers.hermes import HermesImporter
from sojourn.importers.import_history import import_history
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.text.redaction import no_redaction
from tests.unit.achievements.test_golden import COMPARED
from tests.unit.achievements.worlds import BOOK, golden, scanner, time_zone


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request, tmp_path):
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "state.db", redactor=no_redaction)
    else:
        made = PostgresStore(request.getfixturevalue("postgres_url"), redactor=no_redaction)
    yield made
    await made.close()


@pytest.mark.parametrize("name", ["tiny", "mixed", "edges"])
async def test_an_imported_golden_history_has_the_numbers_of_the_original(name, store, tmp_path):
    home, expected = golden(name, tmp_path / "home")
    found = HermesImporter().claims(home)
    report = await import_history(store, HermesImporter(), found)
    assert not report.problem
    assert not report.skipped
    history = store.history()
    with time_zone(expected["tz"]):
        outcome = ScanJob(history, FolderStore(tmp_path / "scans"), BOOK, ScanSettings(workers=1), scanner).run()
    rows = {row["session_id"]: row for row in build_session_rows(BOOK, outcome.records, history.previews)}
    wanted = {row["session_id"]: row for row in expected["sessions"]}
    differences = [
        (session, key, rows.get(session, {}).get(key), value)
        for session, row in wanted.items()
        for key, value in row.items()
        if rows.get(session, {}).get(key) != value
    ]
    assert differences == []
    assert set(rows) == set(wanted)
    assert outcome.snapshot["aggregate"] == expected["aggregate"]
    for badge in outcome.snapshot["achievements"]:
        assert {key: badge[key] for key in COMPARED if key in badge} == expected["achievements"][badge["id"]]
    history.close()
