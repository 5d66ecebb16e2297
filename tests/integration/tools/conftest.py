"""The application and a workspace as fixtures."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.app import App
from sojourn.core.sessions import Principal
from sojourn.ports.tool import ToolResult
from tests.integration.tools.tool_workspace import Room, call, open_kit, room_in


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings a test gives with `@pytest.mark.parametrize("settings", [...], indirect=True)`."""
    return dict(getattr(request, "param", {}))


@pytest.fixture
async def kit(settings: dict[str, Any]) -> AsyncIterator[App]:
    async with open_kit(**settings) as made:
        yield made


@pytest.fixture
async def room(tmp_path: Path, kit: App) -> Room:
    return await room_in(kit, tmp_path)


@pytest.fixture
def guest(room: Room) -> Room:
    return replace(room, principal=Principal("guest:ann"))


@pytest.fixture
def use(kit: App, room: Room) -> Callable[..., Awaitable[ToolResult]]:
    async def call_it(name: str, /, at: Room | None = None, **given: Any) -> ToolResult:
        return await call(kit, at or room, name, **given)

    return call_it
