"""The trash: emptied by the owner, or by a server when `sessions.trash_days` says so."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Protocol

from fastapi import APIRouter
from pydantic import BaseModel

from sojourn.core.errors import NotFound, SessionBusy, SojournError
from sojourn.core.sessions import OWNER, Principal
from sojourn.http.dependencies import ContextDep, PrincipalDep
from sojourn.ports.app import HasStore, StoreMaintenance
from sojourn.ports.store import Listing

router = APIRouter(prefix="/api", tags=["sessions"])
logger = logging.getLogger(__name__)
_DAY_SECONDS = 86_400.0
_LOOK_SECONDS = 3600.0  # between two looks at what is old enough
_PAGE_SESSIONS = 200


class SessionRemoval(HasStore, StoreMaintenance, Protocol):
    """What the trash is emptied with."""


class EmptiedTrash(BaseModel):
    """What was deleted for good."""

    deleted: int


@router.delete("/trash", summary="Empty the trash")
async def empty(context: ContextDep, principal: PrincipalDep) -> EmptiedTrash:
    """Deletes everything in it for good, as `DELETE /api/sessions/{id}` does."""
    return EmptiedTrash(deleted=await empty_trash(context, time.time(), principal))


async def empty_trash(context: SessionRemoval, before: float, principal: Principal = OWNER) -> int:
    """Deletes the sessions that went into the trash before a moment; returns how many."""
    deleted, place = 0, None
    while page := await context.store.find(
        Listing(principal=principal, archived=None, trashed=True, limit=_PAGE_SESSIONS, before=place)
    ):
        for one in page:
            if one.trashed_at is not None and one.trashed_at <= before:
                try:
                    await context.delete(one.id)
                    deleted += 1
                except (NotFound, SessionBusy):  # it went with its parent, or somebody goes on with it
                    continue
        place = (page[-1].last_active, page[-1].id)
    return deleted


async def empty_regularly(context: SessionRemoval) -> None:
    """Runs beside a server: deletes what has been in the trash for `sessions.trash_days`, if that is not 0."""
    while True:
        if days := int(context.settings["sessions.trash_days"]):
            try:
                if deleted := await empty_trash(context, time.time() - days * _DAY_SECONDS):
                    logger.info("%d sessions were deleted after %d days in the trash", deleted, days)
            except SojournError as error:
                logger.warning("the trash could not be emptied: %s", error)
        await asyncio.sleep(_LOOK_SECONDS)
