"""The routes under `/api/plugins/hermes-achievements/`. Nothing here waits in the server's event loop."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Response
from pydantic import WithJsonSchema
from starlette.concurrency import run_in_threadpool

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.factory import open_store_scans
from sojourn.achievements.service import MAX_WAIT_SECONDS, AchievementsService, parse_wait
from sojourn.ports.app import PluginContext

# Parsed by `parse_wait`, as in the drop-in: any number is clamped, and anything else is a bad request.
Seconds = Annotated[
    str | None,
    Query(description="Seconds to wait for the very first scan."),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": MAX_WAIT_SECONDS}),
]
_BAD_WAIT: dict[int | str, dict[str, Any]] = {400: {"description": "`wait` is not a number."}}
_FAILED: dict[int | str, dict[str, Any]] = {503: {"description": "The very first scan failed; `detail` says why."}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such badge."}}


def router(app: PluginContext) -> APIRouter:
    """The routes for our own store."""
    return routes(lambda: open_store_scans(app, gentle=True))


def routes(open_scans: Callable[[], ScanCoordinator]) -> APIRouter:
    """The routes for any history; it is opened by the first request."""
    state = _RouteState(open_scans)
    api = APIRouter(lifespan=state.lifespan)

    @api.get("/achievements", responses={**_FAILED, **_BAD_WAIT})
    async def achievements(wait: Seconds = None) -> Response:
        """All badges, from the last good scan; a stale answer says so and starts a refresh."""
        return await state.get_badges(parse_wait(wait))

    @api.get("/scan-status")
    async def scan_status() -> Response:
        """How scanning is going. Never starts a scan."""
        return _to_response((await state.service()).scan_status())

    @api.get("/recent-unlocks", responses=_FAILED)
    async def recent_unlocks() -> Response:
        """The newest unlocked badges, at most 20."""
        return _to_response((await state.service()).recent_unlocks())

    @api.get("/sessions/{session_id}/badges")
    async def session_badges(session_id: str) -> Response:
        """The badges a session would have earned alone."""
        service = await state.service()
        return _to_response(await run_in_threadpool(service.session_badges, session_id))

    @api.get("/achievements/{badge}/receipts", responses=_UNKNOWN)
    async def receipts(badge: str, after: str = "", limit: Annotated[int, Query(ge=1, le=200)] = 20) -> Response:
        """The messages that counted towards a badge, with highlights. `next` is the `after` of the next page."""
        service = await state.service()
        return _to_response(await run_in_threadpool(service.receipts, badge, after=after, limit=limit))

    @api.post("/rescan", status_code=202, responses={**_FAILED, 200: {"description": "`wait`: the final snapshot."}})
    async def rescan(mode: Literal["incremental", "full"] = "incremental", wait: bool = False) -> Response:
        """Starts a scan or joins the running one. `mode=full` reads everything again; `wait` waits for the end."""
        service = await state.service()
        if wait:
            return _to_response(await run_in_threadpool(service.rescan_and_wait, full=mode == "full"))
        return _to_response(service.rescan(full=mode == "full"), 202)

    @api.post("/reset-state")
    async def reset_state() -> Response:
        """Forgets everything counted and every unlock date."""
        service = await state.service()
        return _to_response(await run_in_threadpool(service.reset))

    return api


class _RouteState:
    """Opens the history on the first request, and caches the encoded badges."""

    def __init__(self, open_scans: Callable[[], ScanCoordinator]) -> None:
        self._open = open_scans
        self._open_lock = threading.Lock()
        self._scans: ScanCoordinator | None = None
        self._service: AchievementsService | None = None
        self._encoded: tuple[object, bytes] = (None, b"")

    async def service(self) -> AchievementsService:
        if self._service is not None:
            return self._service
        return await run_in_threadpool(self._open_service)

    def _open_service(self) -> AchievementsService:
        with self._open_lock:
            if self._service is None:
                self._scans = self._open()
                self._service = AchievementsService(self._scans)
            return self._service

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        yield
        if self._scans is not None:
            await run_in_threadpool(self._scans.close)

    async def get_badges(self, wait: float | None) -> Response:
        service = await self.service()
        answer = await run_in_threadpool(service.achievements, wait) if wait else service.achievements()
        return self._encode(answer)

    def _encode(self, answer: dict[str, Any]) -> Response:
        """The badges change once per scan and are encoded once; the fields around them change with every answer."""
        items = answer.pop("achievements")
        if self._encoded[0] is not items:
            self._encoded = items, json.dumps(items).encode()
        rest = json.dumps(answer).encode()
        return Response(b'{"achievements": ' + self._encoded[1] + b", " + rest[1:], media_type="application/json")


def _to_response(value: object, status: int = 200) -> Response:
    return Response(json.dumps(value).encode(), status, media_type="application/json")
