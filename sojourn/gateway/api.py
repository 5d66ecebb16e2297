"""The routes under `/api/plugins/gateway/`. With them, a server runs the gateway, unless it was told not to."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from sojourn.core.codec import encode_value
from sojourn.core.errors import NotFound
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.gateway.host import Gateway
from sojourn.gateway.pairing import Identities
from sojourn.gateway.status import delivery, shown, status
from sojourn.ports.app import AppContext, HasStore
from sojourn.ports.service import Caller

_FAULTS: dict[int | str, dict[str, Any]] = {
    404: {"description": "There is no such session, hand-off, code or platform."},
    409: {"description": "A turn runs, or another hand-off is under way."},
    503: {"description": "No gateway runs, or the platform cannot be reached."},
}
Id = Annotated[str, Path(max_length=300)]
Limit = Annotated[int, Query(ge=1, le=500)]
DeliveryState = Literal["pending", "sending", "sent", "delivered", "failed"]

logger = logging.getLogger(__name__)


class Asked(BaseModel):
    """Where a session should go."""

    model_config = ConfigDict(extra="forbid")
    to: str = Field(min_length=1, max_length=500, description="platform or platform:chat; cli; web.")
    surface: str = Field(default="", max_length=50, description="Who gives it away; the driver, if nobody is named.")
    wait: bool = Field(default=False, description="Expires after `handoff.wait_seconds` unless it is picked up.")


class Code(BaseModel):
    """A pairing code and who it is for."""

    model_config = ConfigDict(extra="forbid")
    code: str = Field(min_length=1, max_length=40)
    owner: bool = Field(default=False, description="It is you. Otherwise a guest with sessions of their own.")
    name: str = Field(default="", max_length=100)


def router(kit: AppContext) -> APIRouter:
    """The routes, and the gateway itself while the server runs."""
    api = APIRouter(lifespan=_beside(kit))

    @api.get("/status", summary="How the gateways get on")
    async def gateway_status() -> dict[str, Any]:
        return await status(kit.store)

    @api.post("/sessions/{id}/handoff", status_code=202, summary="Hand a session over", responses=_FAULTS)
    async def hand_over(id: Id, asked: Asked, request: Request) -> dict[str, Any]:
        """Marks it pending and answers at once; follow it under `/handoffs/{id}`."""
        principal = Principal(_header(request, "principal") or OWNER)
        by = Caller(surface=asked.surface, principal=principal, name=_header(request, "name") or "the web")
        find = kit.service.get if _header(request, "form") == "exact" else kit.service.resolve
        session = await find(SessionId(id), principal=principal)
        platform, _, target = asked.to.partition(":")
        handoff = await kit.service.hand_off(session.id, platform, by=by, target=target, wait=asked.wait)
        return _to_json(handoff, request)

    @api.get("/sessions/{id}/handoffs", summary="Every hand-off of a session", responses=_FAULTS)
    async def handoffs(id: Id) -> list[dict[str, Any]]:
        return [shown(one) for one in await kit.store.handoffs((await kit.store.resolve(id)).id)]

    @api.get("/handoffs", summary="The newest hand-offs of all sessions")
    async def every_handoff(limit: Limit = 50) -> list[dict[str, Any]]:
        """Each with the `title` of its session."""
        return [
            shown(one) | {"title": await _title(kit, one.session)}
            for one in await kit.store.handoffs(None, limit=limit)
        ]

    @api.get("/handoffs/{id}/events", summary="Follow a hand-off", responses=_FAULTS)
    async def follow(id: Id, request: Request) -> StreamingResponse:
        """Frames called `step` until it is over. One that nobody picks up in time ends, as for `wait`."""
        steps = kit.service.follow_handoff(await kit.service.get_handoff(HandoffId(id)))
        return StreamingResponse(_frames(steps, request), media_type="text/event-stream")

    @api.get("/handoffs/{id}", summary="How a hand-off goes", responses=_FAULTS)
    async def one_handoff(id: Id, request: Request, wait: bool = False) -> dict[str, Any]:
        """`wait` answers when it is over."""
        found = await kit.service.get_handoff(HandoffId(id))
        if wait:
            found = [step async for step in kit.service.follow_handoff(found)][-1]
        return _to_json(found, request)

    @api.delete("/handoffs/{id}", summary="Think better of it", responses=_FAULTS)
    async def cancel(id: Id, request: Request) -> dict[str, Any]:
        """Until it has arrived."""
        return _to_json(await kit.service.cancel_handoff(HandoffId(id)), request)

    @api.get("/outbox", summary="The ledger of deliveries, newest first")
    async def outbox(
        limit: Limit = 50,
        state: Annotated[list[DeliveryState], Query(max_length=5, description="Only these.")] = [],  # noqa: B006
    ) -> list[dict[str, Any]]:
        """What was to be sent, and what became of it. `possible_duplicate`: it may be there twice."""
        return [delivery(one) for one in await kit.store.outgoing(states=state, limit=limit, newest=True)]

    @api.get("/people", summary="Who waits to be let in, and who is in")
    async def people() -> dict[str, Any]:
        known = Identities(kit.store, kit.settings)
        waiting = [asdict(one) for one in await known.requests()]
        paired = [
            {"platform": platform, "sender": sender, "name": person.name, "principal": person.principal}
            for platform, sender, person in await known.paired()
        ]
        return {"waiting": waiting, "paired": paired}

    @api.post("/people", summary="Let somebody in", responses=_FAULTS)
    async def pair(code: Code) -> dict[str, Any]:
        request, principal = await Identities(kit.store, kit.settings).pair(
            code.code, as_owner=code.owner, name=code.name
        )
        return {"platform": request.platform, "sender": request.sender, "principal": principal}

    @api.delete("/people/{platform}/{sender}", summary="Let somebody out again")
    async def unpair(platform: Id, sender: Id) -> dict[str, bool]:
        return {"removed": await Identities(kit.store, kit.settings).unpair(platform, sender)}

    @api.delete("/people/waiting/{platform}/{sender}", summary="Turn somebody away")
    async def turn_away(platform: Id, sender: Id) -> dict[str, bool]:
        """Their code is worth nothing any more, and they get no other one for an hour."""
        return {"removed": await Identities(kit.store, kit.settings).turn_away(platform, sender)}

    return api


def _header(request: Request, name: str) -> str:
    """A percent-encoded header of our own client."""
    return unquote(request.headers.get(f"sojourn-{name}", ""))[:200]


def _to_json(handoff: Handoff, request: Request) -> dict[str, Any]:
    """Every field for our own client; for others those that a person may want to see."""
    found: dict[str, Any] = encode_value(handoff) if _header(request, "form") == "exact" else shown(handoff)
    return found


async def _frames(steps: AsyncGenerator[Handoff, None], request: Request) -> AsyncGenerator[bytes, None]:
    """Each step as it is taken. The bell rings often enough to show that the line is alive."""
    async with aclosing(steps):
        async for step in steps:
            yield b"event: step\ndata: %b\n\n" % json.dumps(_to_json(step, request)).encode()


async def _title(kit: HasStore, session: SessionId) -> str | None:
    with suppress(NotFound):  # deleted at this moment
        return (await kit.store.get(session)).title
    return None


def _beside(kit: AppContext) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Runs the gateway beside the server."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        if not kit.settings["gateway.embedded"]:
            yield
            return
        running = asyncio.create_task(Gateway(kit).run())
        try:
            yield
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

    return lifespan
