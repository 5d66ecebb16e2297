"""Stores to run the contract on: several of a kind for one test, closed when it ends."""

import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Any:
    """A test that fails over a lone surrogate says so, instead of choking the wire between test processes."""
    return printable((yield))


def printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(printable, value))
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


@pytest.fixture
async def closing() -> AsyncIterator[Callable[[Any], Any]]:
    """Takes a store and closes it after the test, the last one first."""
    async with AsyncExitStack() as stack:

        def keep(store: Any) -> Any:
            stack.push_async_callback(store.close)
            return store

        yield keep


@pytest.fixture(scope="session")
def used_databases() -> list[str]:
    """Databases that were emptied after use: making one takes a hundred times as long."""
    return []


@pytest.fixture
def databases(postgres_server: str, used_databases: list[str]) -> Iterator[Callable[[], str]]:
    """Gives addresses of databases without rows that are this test's own while it runs."""
    given: list[str] = []

    def another() -> str:
        if used_databases:
            given.append(used_databases.pop())
        else:
            name = f"t_{uuid.uuid4().hex}"
            tell(postgres_server, f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
            given.append(postgres_server.replace("/postgres?", f"/{name}?"))
        return given[-1]

    yield another
    for url in given:
        tables = [name for (name,) in tell(url, TABLES) if name not in ("meta", "schema_migrations")]
        if tables:
            tell(url, f"TRUNCATE {', '.join(tables)} RESTART IDENTITY")
            used_databases.append(url)


TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def tell(url: str, statement: str) -> list[Any]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []
