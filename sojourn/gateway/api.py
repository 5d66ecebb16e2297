"""The HTTP routes under `/api/plugins/gateway/`, and the gateway that runs inside the server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import asdict
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from fastapi import APIRouter, FastAPI, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from sojourn.asyncio_tasks import run_beside
from sojourn.core.errors import NotFound
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.gateway.host import Gateway
from sojourn.gateway.network_setup import (
    add_network,
    check_network,
    fetch_profile,
    find_network,
    find_receiver_problem,
    list_networks,
    remove_network,
    send_test_message,
)
from sojourn.gateway.network_sign_in import SignIns
from sojourn.gateway.pairing import Identities
from sojourn.gateway.pairing_invitations import PairingInvitations, build_start_link
from sojourn.gateway.status import delivery_to_json, find_line_states, handoff_to_json, read_status
from sojourn.optional_packages import install_packages
from sojourn.ports.app import AppContext, HasStore
from sojourn.ports.service import Caller
from sojourn.text.codec import encode_value
from sojourn.text.qr_code import draw_code

_FAULTS: dict[int | str, dict[str, Any]] = {
    404: {"description": "The session, hand-off, code or platform does not exist."},
    409: {"description": "A turn is running, or another hand-off is in progress."},
    503: {"description": "No gateway is running, or the platform cannot be reached."},
}
_HEADER_CHARS = 200
Id = Annotated[str, Path(max_length=300)]
Limit = Annotated[int, Query(ge=1, le=500)]
DeliveryState = Literal["pending", "sending", "sent", "delivered", "failed"]


class HandoffBody(BaseModel):
    """The target of a hand-off."""

    model_config = ConfigDict(extra="forbid")
    to: str = Field(min_length=1, max_length=500, description="platform or platform:chat; cli; web.")
    surface: str = Field(default="", max_length=50, description="The surface that hands over; default: the driver.")
    wait: bool = Field(default=False, description="Expires after `handoff.wait_seconds` unless a gateway claims it.")


class PairingBody(BaseModel):
    """A pairing code and the person it belongs to."""

    model_config = ConfigDict(extra="forbid")
    code: str = Field(min_length=1, max_length=40)
    owner: bool = Field(default=False, description="It is you. Otherwise a guest with sessions of their own.")
    name: str = Field(default="", max_length=100)


class NetworkBody(BaseModel):
    """Settings of a network, by their names."""

    model_config = ConfigDict(extra="forbid")
    settings: dict[Annotated[str, Field(max_length=100)], str | int | float | bool | list[str]] = Field(
        default_factory=dict, max_length=50
    )


class AnswerBody(BaseModel):
    """What was typed in at a step with `has_question`."""

    model_config = ConfigDict(extra="forbid")
    answer: str = Field(default="", max_length=200)


def router(app: AppContext) -> APIRouter:
    """All routes; while they are served, the gateway runs too."""
    api = APIRouter(lifespan=_gateway_lifespan(app))
    _add_handoff_requests(api, app)
    _add_handoff_routes(api, app)
    _add_status_routes(api, app)
    _add_people_routes(api, app)
    _add_network_routes(api, app)
    return api


def _add_handoff_requests(api: APIRouter, app: AppContext) -> None:
    @api.post("/sessions/{id}/handoff", status_code=202, summary="Hand a session over", responses=_FAULTS)
    async def hand_over(id: Id, body: HandoffBody, request: Request) -> dict[str, Any]:
        """Requests the hand-off and answers at once; follow it under `/handoffs/{id}`."""
        principal = _find_principal(request)
        by = Caller(surface=body.surface, principal=principal, name=_read_header(request, "name") or "the web")
        find = app.service.get if _read_header(request, "form") == "exact" else app.service.resolve
        session = await find(SessionId(id), principal=principal)
        platform, _, target = body.to.partition(":")
        handoff = await app.service.hand_off(session.id, platform, by=by, target=target, wait=body.wait)
        return _to_json(handoff, request)

    @api.get("/sessions/{id}/handoffs", summary="Every hand-off of a session", responses=_FAULTS)
    async def list_session_handoffs(id: Id, request: Request) -> list[dict[str, Any]]:
        session = await app.store.resolve(id, principal=_find_principal(request))
        return [handoff_to_json(one) for one in await app.store.handoffs(session.id)]


def _add_handoff_routes(api: APIRouter, app: AppContext) -> None:
    async def find(id: str, request: Request) -> Handoff:
        """NotFound for a guest who asks about somebody else's."""
        handoff, principal = await app.service.get_handoff(HandoffId(id)), _find_principal(request)
        if principal != OWNER:
            await app.service.get(handoff.session, principal=principal)
        return handoff

    @api.get("/handoffs", summary="The newest hand-offs of all sessions")
    async def list_handoffs(request: Request, limit: Limit = 50) -> list[dict[str, Any]]:
        """Each with the `title` of its session."""
        if _find_principal(request) != OWNER:
            return []  # a guest asks for those of a session
        handoffs = await app.store.handoffs(None, limit=limit)
        return [handoff_to_json(one) | {"title": await _find_title(app, one.session)} for one in handoffs]

    @api.get("/handoffs/{id}/events", summary="Follow a hand-off", responses=_FAULTS)
    async def follow(id: Id, request: Request) -> StreamingResponse:
        """Events called `step` until it has ended. A hand-off that no gateway claims in time ends, as with `wait`."""
        steps = app.service.follow_handoff(await find(id, request))
        return StreamingResponse(_stream_steps(steps, request), media_type="text/event-stream")

    @api.get("/handoffs/{id}", summary="The state of a hand-off", responses=_FAULTS)
    async def get_handoff(id: Id, request: Request, wait: bool = False) -> dict[str, Any]:
        """With `wait`, answers when it has ended."""
        handoff = await find(id, request)
        if wait:
            handoff = [step async for step in app.service.follow_handoff(handoff)][-1]
        return _to_json(handoff, request)

    @api.delete("/handoffs/{id}", summary="Cancel a hand-off", responses=_FAULTS)
    async def cancel(id: Id, request: Request) -> dict[str, Any]:
        """Works until it has arrived."""
        return _to_json(await app.service.cancel_handoff((await find(id, request)).id), request)


def _add_status_routes(api: APIRouter, app: AppContext) -> None:
    @api.get("/status", summary="The status of every gateway")
    async def gateway_status() -> dict[str, Any]:
        return await read_status(app.store)

    @api.get("/outbox", summary="The deliveries, newest first")
    async def list_outbox(
        limit: Limit = 50,
        state: Annotated[list[DeliveryState], Query(max_length=5, description="Only these.")] = [],  # noqa: B006
    ) -> list[dict[str, Any]]:
        """Every message to send, and its result. `possible_duplicate`: it may have been sent twice."""
        return [delivery_to_json(one) for one in await app.store.outgoing(states=state, limit=limit, newest=True)]


def _add_people_routes(api: APIRouter, app: AppContext) -> None:
    def identities() -> Identities:
        return Identities(app.store, app.settings)

    @api.get("/people", summary="The pairing requests and the paired people")
    async def list_people() -> dict[str, Any]:
        waiting = [asdict(one) for one in await identities().requests()]
        paired = [
            {"platform": platform, "sender": sender, "name": identity.name, "principal": identity.principal}
            for platform, sender, identity in await identities().list_paired()
        ]
        return {"waiting": waiting, "paired": paired}

    @api.post("/people", summary="Pair somebody", responses=_FAULTS)
    async def pair(body: PairingBody) -> dict[str, Any]:
        request, principal = await identities().pair(body.code, as_owner=body.owner, name=body.name)
        return {"platform": request.platform, "sender": request.sender, "principal": principal}

    @api.delete("/people/{platform}/{sender}", summary="Unpair somebody")
    async def unpair(platform: Id, sender: Id) -> dict[str, bool]:
        return {"removed": await identities().unpair(platform, sender)}

    @api.delete("/people/waiting/{platform}/{sender}", summary="Reject a pairing request")
    async def reject(platform: Id, sender: Id) -> dict[str, bool]:
        """Their code becomes invalid, and they get no other one for an hour."""
        return {"removed": await identities().reject(platform, sender)}


def _add_network_routes(api: APIRouter, app: AppContext) -> None:
    @api.get("/networks", summary="Every network, what it needs, and whether it is set up")
    async def networks() -> list[dict[str, Any]]:
        """Values are never given back, secret or not. `line`: its connection, if a gateway serves it."""
        lines = await find_line_states(app.store)
        return [asdict(one) | {"line": lines.get(one.name)} for one in await asyncio.to_thread(list_networks, app)]

    @api.post("/networks/{name}/packages", summary="Install what a network needs", responses=_FAULTS)
    async def install(name: Id) -> dict[str, Any]:
        """Installs its `missing_packages` into the environment of the server. Ask the person first."""
        packages = list(find_network(app, name).missing_packages)
        if packages:
            await install_packages(packages)
        return {"installed": packages}

    @api.post("/networks/{name}/invitation", summary="A code that pairs you", responses=_FAULTS)
    async def invite(name: Id) -> dict[str, Any]:
        """Whoever sends it to the bot within ten minutes is the owner there. Where a network has such links, `link`
        opens a chat that sends it, and `picture` is its QR code. `GET /people` tells who was paired."""
        network = find_network(app, name)
        profile = await fetch_profile(app, network)
        invitation = await PairingInvitations(app.store).create(network.name)
        link = build_start_link(profile, invitation.code)
        return asdict(invitation) | {"link": link, "picture": draw_code(link) if link else ""}

    @api.post("/networks/{name}/check", summary="Check credentials without keeping them", responses=_FAULTS)
    async def check(name: Id, body: NetworkBody) -> dict[str, Any]:
        profile = await check_network(app, find_network(app, name), body.settings)
        return {"profile": asdict(profile) if profile else None}

    @api.put("/networks/{name}", summary="Set up a network", responses=_FAULTS)
    async def add(name: Id, body: NetworkBody) -> dict[str, Any]:
        """Checks the credentials, keeps them, and serves the network at once."""
        profile = await add_network(app, find_network(app, name), body.settings)
        return {"profile": asdict(profile) if profile else None}

    @api.post("/networks/{name}/sign-in", summary="Begin to sign in to a network", responses=_FAULTS)
    async def begin_sign_in(name: Id, body: NetworkBody) -> dict[str, Any]:
        """The first step: `text` to show, and for one that is scanned its `picture` as a QR code."""
        return await app.shared(SignIns).begin(find_network(app, name), body.settings)

    @api.post("/networks/{name}/sign-in/{id}", summary="The next step of a sign-in", responses=_FAULTS)
    async def advance_sign_in(name: Id, id: Id, body: AnswerBody) -> dict[str, Any]:
        """Waits some seconds, then answers with the same step; ask again until `is_done`: then it is set up."""
        return await app.shared(SignIns).advance(find_network(app, name), id, body.answer)

    @api.delete("/networks/{name}", status_code=204, summary="Remove a network", responses=_FAULTS)
    async def remove(name: Id) -> None:
        remove_network(app, find_network(app, name))

    @api.post("/networks/{name}/test", summary="Send a test message", responses=_FAULTS)
    async def send_test(name: Id, chat: Annotated[str, Query(max_length=500)] = "") -> dict[str, str]:
        """`receiver_problem`: why requests of the network would not be received, for one with `receives_at`."""
        network = find_network(app, name)
        problem = await asyncio.to_thread(find_receiver_problem, network) if network.receives_at else ""
        return {"sent_to": await send_test_message(app, network, chat), "receiver_problem": problem}


def _read_header(request: Request, name: str) -> str:
    """A percent-encoded header of our own client."""
    return unquote(request.headers.get(f"sojourn-{name}", ""))[:_HEADER_CHARS]


def _to_json(handoff: Handoff, request: Request) -> dict[str, Any]:
    """Every field for our own client; the documented ones for others."""
    is_exact = _read_header(request, "form") == "exact"
    document: dict[str, Any] = encode_value(handoff) if is_exact else handoff_to_json(handoff)
    return document


def _find_principal(request: Request) -> Principal:
    """Who asks: the owner, unless a header names a guest."""
    return Principal(_read_header(request, "principal") or OWNER)


async def _stream_steps(steps: AsyncGenerator[Handoff, None], request: Request) -> AsyncGenerator[bytes, None]:
    """The steps as server-sent events. They come often enough to keep the connection open."""
    async with aclosing(steps):
        async for step in steps:
            yield b"event: step\ndata: %b\n\n" % json.dumps(_to_json(step, request)).encode()


async def _find_title(app: HasStore, session: SessionId) -> str | None:
    with suppress(NotFound):  # deleted in the meantime
        return (await app.store.get(session)).title
    return None


def _gateway_lifespan(app: AppContext) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Runs a gateway as long as the server, unless `gateway.embedded` is off."""

    @asynccontextmanager
    async def lifespan(_server: FastAPI) -> AsyncIterator[None]:
        if not app.settings["gateway.embedded"]:
            yield
            return
        async with run_beside(Gateway(app).run()):
            yield

    return lifespan
