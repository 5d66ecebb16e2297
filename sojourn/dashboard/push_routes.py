"""Web Push over HTTP: the key that a browser subscribes with, and the browsers that agreed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, ConfigDict, Field

from sojourn.dashboard.web_push import PUSH_SERVERS, PushNotifier

_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "It is not the address of a known push server."}}


class PushState(BaseModel):
    """What a browser needs to subscribe, and how many have."""

    key: str = Field(description="The application server key, as `PushManager.subscribe` takes it.")
    servers: list[str] = Field(description="Whose servers a message may pass: those of browser makers.")
    browsers: int


class PushSubscription(BaseModel):
    """A browser that agreed: the address its maker's server gave it."""

    model_config = ConfigDict(extra="forbid")
    endpoint: Annotated[str, Field(min_length=10, max_length=2000)]


def add_push_routes(api: APIRouter, notifier: PushNotifier) -> None:
    """The routes under `/api/plugins/dashboard/push`."""

    @api.get("/push")
    async def state() -> PushState:
        """The key, made at the first question."""
        key = await notifier.get_key()
        return PushState(key=key.public, servers=list(PUSH_SERVERS), browsers=len(notifier.list_endpoints()))

    @api.put("/push", status_code=204, responses=_REFUSED)
    async def subscribe(wanted: PushSubscription) -> None:
        """Tells this browser from now on when a session waits, by an empty message."""
        notifier.add(wanted.endpoint)

    @api.delete("/push", status_code=204)
    async def unsubscribe(wanted: PushSubscription) -> None:
        """Tells it no more."""
        notifier.remove(wanted.endpoint)


def build_push_lifespan(notifier: PushNotifier) -> Any:
    """Watches for what waits as long as the server runs."""

    @asynccontextmanager
    async def lifespan(_server: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(notifier.watch())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await notifier.close()

    return lifespan
