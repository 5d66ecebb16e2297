"""The thread that fills the search index."""

import threading
from typing import Any

from sojourn.stores.sqlite.indexer import Indexer


def test_a_lock_file_that_cannot_be_opened_does_not_end_the_thread(tmp_path, monkeypatch):
    made: Any = None  # neither the lock nor the database is reached
    indexer, failed, again = (
        Indexer(tmp_path / "state.db", tmp_path / "gone", made, made),
        threading.Event(),
        threading.Event(),
    )
    catch_up = indexer.catch_up

    def try_to_catch_up(progress, **given):
        if failed.is_set():
            again.set()
            return 0
        try:
            return catch_up(progress, **given)
        finally:
            failed.set()

    monkeypatch.setattr(indexer, "catch_up", try_to_catch_up)
    indexer.nudge()
    assert failed.wait(30)
    indexer.nudge()
    assert again.wait(30)
    indexer.close()
