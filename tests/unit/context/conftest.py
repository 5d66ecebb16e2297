"""A small world: a SQLite store, and settings with a temporary home."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn.testing.kit import SmallKit, settings_with
from tests.servers.store import temporary_store

MakeKit = Callable[..., SmallKit]


@pytest.fixture
async def make_kit(home: Path) -> AsyncIterator[MakeKit]:
    made: list[SmallKit] = []

    def make(**given: Any) -> SmallKit:
        runtimes = given.pop("runtimes", ())
        home.mkdir(parents=True, exist_ok=True)
        made.append(SmallKit(store=temporary_store(), settings=settings_with(home, **given), runtimes=runtimes))
        return made[-1]

    yield make
    for kit in made:
        for one in kit._shared.values():
            if hasattr(one, "close"):
                await one.close()
        await kit.close()


@pytest.fixture
def kit(make_kit: MakeKit) -> SmallKit:
    return make_kit()
