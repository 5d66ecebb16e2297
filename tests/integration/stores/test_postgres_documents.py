"""A documents in the database does what a folder does, for every server that shares it."""

import pickle
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.factory import HasDocuments
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan_job import ScanSettings
from sojourn.core.messages import user
from sojourn.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.postgres


def good(data):
    return data.endswith(b"!")


@pytest.fixture
async def store(postgres_url):
    store = PostgresStore(postgres_url)
    yield store
    await store.close()


@pytest.fixture
def documents(store):
    return store.documents("scans")


def sql(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


async def test_the_store_has_documents(store):
    assert isinstance(store, HasDocuments)


@pytest.mark.parametrize("kind", ["folder", "table"])
async def test_documents_are_kept_as_in_a_folder(kind, documents, tmp_path: Path):
    one = FolderStore(tmp_path / "documents") if kind == "folder" else documents
    assert one.read("a", good) is None
    assert one.version("a") is None
    one.write("a", b"\x00first!")
    seen = one.version("a")
    assert one.read("a", good) == b"\x00first!"
    one.write("a", b"second!", durable=False)
    assert one.read("a", good) == b"second!"
    assert one.version("a") not in (seen, None)
    one.append("j", b"1\n")
    before = one.version("j")
    one.append("j", b"2\n")
    assert one.read("j", lambda raw: True) == b"1\n2\n"
    assert one.version("j") != before
    one.write("empty", b"")
    assert one.read("empty", lambda raw: True) == b""
    one.remove("a")
    one.remove("never there")
    assert one.read("a", good) is None
    assert one.read("j", lambda raw: True) == b"1\n2\n"


async def test_a_damaged_document_is_read_from_its_last_good_copy(store, documents, postgres_url):
    documents.write("a", b"good!")
    sql(postgres_url, "UPDATE documents SET data = 'torn' WHERE is_copy = 0")
    assert documents.read("a", good) == b"good!"
    sql(postgres_url, "UPDATE documents SET data = 'torn'")
    assert documents.read("a", good) is None


async def test_shelves_have_names_and_servers_share_them(store, postgres_url):
    other = PostgresStore(postgres_url)
    store.documents("scans").write("a", b"1!")
    assert other.documents("scans").read("a", good) == b"1!"
    assert other.documents("others").read("a", good) is None
    await other.close()


async def test_one_at_a_time_may_scan(store, documents, postgres_url):
    other = PostgresStore(postgres_url)
    lock = documents.try_lock()
    assert lock is not None
    assert other.documents("scans").try_lock() is None
    another = other.documents("others").try_lock()
    assert another is not None
    lock.release()
    mine = other.documents("scans").try_lock()
    assert mine is not None
    for held in (mine, another):
        held.release()
    await other.close()


async def test_a_scanner_that_dies_lets_go(documents, postgres_url):
    code = (
        "import sys, os; from sojourn.stores.postgres.documents import PostgresDocuments\n"
        "assert PostgresDocuments(sys.argv[1], 'scans').try_lock()\n"
        "os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, postgres_url], check=False).returncode == 9
    for _ in range(100):
        if lock := documents.try_lock():
            break
    assert lock is not None
    lock.release()


async def test_documents_travel_to_another_process(documents):
    documents.write("a", b"1!")
    copy = pickle.loads(pickle.dumps(documents))
    assert copy.read("a", good) == b"1!"
    copy.close()


async def test_a_line_that_broke_is_taken_up_again(documents, postgres_url):
    documents.write("a", b"1!")
    sql(
        postgres_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    assert documents.read("a", good) == b"1!"


async def test_a_server_that_is_gone_is_an_os_error(postgres_url):
    store = PostgresStore(postgres_url)
    documents = store.documents("scans")
    documents._url = "postgresql://ann:hunter2@127.0.0.1:1/work"
    with pytest.raises(OSError, match="cannot be reached") as refused:
        documents.read("a", good)
    assert "hunter2" not in str(refused.value)
    with pytest.raises(OSError, match="cannot be reached"):
        documents.try_lock()
    await store.close()


async def test_a_scan_of_one_server_is_known_to_another(store, postgres_url):
    session = (await store.create()).id
    lease = await store.lease(session, holder="me", surface="cli")
    await store.append(lease, [user("please run the tests")])
    other = PostgresStore(postgres_url)
    histories = [store.history(), other.history()]
    first, second = [
        ScanCoordinator(history, one.documents("scans"), book=RuleBook(), settings=ScanSettings(workers=1))
        for history, one in zip(histories, (store, other), strict=True)
    ]
    first.run_if_needed(force=True, wait=30)
    assert not first.has_failed
    assert second.snapshots.get() == first.snapshots.get() is not None
    assert list(second.load_cache()) == [session]
    for history in histories:
        history.close()
    await other.close()
