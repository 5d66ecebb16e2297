"""The server's own state: what it is, how many turns it runs, and the request to stop or start again."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, StrictBool

from sojourn.core.errors import StoreNewer
from sojourn.http.dependencies import CallerDep, StoreDep, problem_responses
from sojourn.http.schemas import StrictSchema
from sojourn.ports.store import Store, Transaction
from sojourn.processes.identity import this_process
from sojourn.server_file import STOP_PATH, Server
from sojourn.turn_support.lasting_approvals import require_owner

router = APIRouter(tags=["status"])
_TURN_KIND = "turn"  # the records of turns that are not over
_POLL_SECONDS = 0.2


class Shutdown:
    """Whether the server was asked to stop, and how."""

    def __init__(self) -> None:
        self.requested, self.now, self.restart = asyncio.Event(), False, False
        self.server: Server | None = None

    async def wait_for_turns(self, store: Store) -> None:
        """Returns when no turn runs in this process."""
        while await count_turns(store):  # noqa: ASYNC110  the store tells nobody when a record is gone
            await asyncio.sleep(_POLL_SECONDS)


async def count_turns(store: Store) -> int:
    """The turns that this process runs. None once a newer version has upgraded the store: no end of theirs could be
    stored, so nobody has to wait for it."""
    here = this_process()
    found = [record.value for record in await store.list_records(_TURN_KIND)]
    ours = [one for one in found if isinstance(one, dict) and one.get("process") == here]
    count = len([one for one in ours if one.get("state") == "running"])
    try:
        if count:
            await store.transact(_write_nothing)
    except StoreNewer:
        return 0
    return count


def _write_nothing(_store: Transaction) -> None: ...


class ServerStatus(BaseModel):
    """The server that answers."""

    address: str
    pid: int
    version: str
    started_at: str
    until_idle: bool = Field(description="It was started by a client and stops when nobody needs it.")
    turns: int = Field(description="How many turns run in it now.")


class StopBody(StrictSchema):
    """How to stop."""

    now: StrictBool = Field(default=False, description="Interrupt running turns. Left out: they end first.")
    restart: StrictBool = Field(default=False, description="Start again afterwards, as it was started.")


@router.get("/api/server", summary="This server")
async def status(request: Request, store: StoreDep) -> ServerStatus:
    server = request.app.state.shutdown.server or Server(address=str(request.base_url).rstrip("/"), token="")
    return ServerStatus(
        address=server.address,
        pid=server.pid,
        version=server.version,
        started_at=server.started_at,
        until_idle=server.until_idle,
        turns=await count_turns(store),
    )


@router.post(STOP_PATH, status_code=202, summary="Stop the server", responses=problem_responses(401))
async def stop(wanted: StopBody, request: Request, store: StoreDep, caller: CallerDep) -> ServerStatus:
    """Its address is free at once. Only the owner may."""
    require_owner(caller)
    found = await status(request, store)
    shutdown = request.app.state.shutdown
    shutdown.now, shutdown.restart = wanted.now, wanted.restart
    shutdown.requested.set()
    return found
