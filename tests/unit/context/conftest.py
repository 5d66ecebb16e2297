"""A small world: a SQLite store, and settings with a temporary home."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn.testing.app import FakeApp, make_settings
from tests.servers.store import temporary_store

MakeKit = Callable[..., FakeApp]


@pytest.fixture
async def make_kit(home: Path) -> AsyncIterator[MakeKit]:
    made: list[FakeApp] = []

    def make(**given: Any) -> FakeApp:
        runtimes = given.pop("runtimes", ())
        home.mkdir(parents=True, exist_ok=True)
        made.append(FakeApp(store=temporary_store(), settings=make_settings(home, **given), runtimes=runtimes))
        return made[-1]

    yield make
    for kit in made:
        for one in kit._shared.values():
            if hasattr(one, "close"):
                await one.close()
        await kit.close()


@pytest.fixture
def kit(make_kit: MakeKit) -> FakeApp:
    return make_kit()
