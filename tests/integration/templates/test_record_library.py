"""Templates that many use at once: processes on one folder, machines on one database."""

import asyncio
import subprocess
import sys

import pytest

from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.record_library import RecordLibrary
from sojourn.text.redaction import redact
from tests.unit.templates.library_contract import LibraryContract, kept


@pytest.mark.postgres
class TestRecordsInPostgres(LibraryContract):
    @pytest.fixture
    async def library(self, postgres_url):
        from sojourn.stores.postgres.store import PostgresStore

        store = PostgresStore(postgres_url, redactor=redact)
        yield RecordLibrary(store)
        await store.close()


def test_fifty_processes_that_use_one_template_at_once_are_all_counted(tmp_path):
    asyncio.run(FolderLibrary(tmp_path).save(kept("a")))
    use = (
        "import asyncio, sys; from pathlib import Path; from sojourn.templates.file_library import FolderLibrary\n"
        "sys.stdin.read(1)\n"  # all of them are ready before the first one counts
        "library = FolderLibrary(Path(sys.argv[1]))\n"
        "for _ in range(4): asyncio.run(library.count_use('a'))"
    )
    at_once = [subprocess.Popen([sys.executable, "-c", use, str(tmp_path)], stdin=subprocess.PIPE) for _ in range(50)]
    for one in at_once:
        one.stdin.write(b"x")
        one.stdin.close()
    assert [one.wait() for one in at_once] == [0] * 50
    assert asyncio.run(FolderLibrary(tmp_path).get("a")).template.usage_count == 200
