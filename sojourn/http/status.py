"""Status: health, figures, histories found on this machine, plugins."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, Response

from sojourn import __version__
from sojourn.core.errors import SojournError
from sojourn.http import schemas
from sojourn.http.dependencies import ContextDep, PluginRoutesDep, Responses, StatsCacheDep, StoreDep
from sojourn.ports.app import HasStore
from sojourn.ports.store import Health
from sojourn.sandbox.enforcement import find_support
from sojourn.sandbox.guarantees import list_guarantees

router = APIRouter(tags=["status"])
_HEALTH_TIMEOUT_SECONDS = 5.0  # seconds a health check may take before slow counts as broken
_UNHEALTHY: Responses = {503: {"description": "The store cannot be used now; says why.", "model": schemas.HealthSchema}}


async def check_health(context: HasStore) -> Health:
    """The store's health, also when there is no store to ask."""
    try:
        return await asyncio.wait_for(context.store.health(), _HEALTH_TIMEOUT_SECONDS)
    except SojournError as error:
        return Health(
            state="degraded",
            store=str(context.settings.home),
            readable=False,
            code=error.code,
            error=str(error),
            hint=error.hint,
        )
    except TimeoutError:
        return Health(
            state="degraded",
            store=str(context.settings.home),
            code="store_locked",
            error=f"The store did not answer within {_HEALTH_TIMEOUT_SECONDS:g} seconds.",
            hint="Another program may hold it. Wait, or look with `sojourn doctor`.",
        )


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", summary="Is it working?", responses=_UNHEALTHY)
async def healthz(context: ContextDep, response: Response) -> schemas.HealthSchema:
    """Needs no token. 200 when sessions can be read and written, 503 with the real error and the next step when not.
    Only `/api/health` tells where the store is."""
    found = _hide_paths(await check_health(context), context.settings.home)
    response.status_code = 200 if found.state == "healthy" else 503
    return schemas.HealthSchema.model_validate(found).model_copy(update={"version": __version__})


def _hide_paths(found: Health, home: Path) -> Health:
    """For strangers: no path, no user, no machine."""
    kind, is_address, _ = found.store.partition("://")
    short = kind if is_address else Path(found.store).name
    error, hint = (text.replace(str(home), "~").replace(found.store, short) for text in (found.error, found.hint))
    return replace(found, store=short, error=error, hint=hint)


@router.get("/api/health", summary="Health in detail")
async def health(context: ContextDep, mounts: PluginRoutesDep) -> schemas.HealthDetail:
    known = schemas.HealthSchema.model_validate(await check_health(context))
    failed = [info.name for info in mounts.plugins() if info.problem]
    return schemas.HealthDetail(
        **known.model_dump(exclude={"version"}),
        version=__version__,
        home=str(context.settings.home),
        pid=os.getpid(),
        plugins_failed=failed,
    )


@router.get("/api/stats", summary="The store in figures")
async def stats(store: StoreDep, cache: StatsCacheDep) -> schemas.StatsSchema:
    """Quick: an answer may be one change behind while it is counted again. What uses the space (`bytes_by`) is measured
    behind the first answer, and then at most once an hour: it reads the whole file."""
    return schemas.StatsSchema.model_validate(await cache.read(store))


@router.get("/api/sources", summary="Histories of other programs on this machine")
async def sources(context: ContextDep) -> list[schemas.HistorySchema]:
    """Looks in the usual places and brings nothing in."""
    found = await asyncio.to_thread(context.find_histories)
    return [schemas.HistorySchema.model_validate(one) for one in found]


@router.get("/api/plugins", summary="Who offers what")
async def plugins(mounts: PluginRoutesDep) -> list[schemas.PluginSchema]:
    return mounts.plugins()


@router.get("/api/sandbox", summary="What this machine can enforce")
async def sandbox() -> schemas.SandboxSchema:
    """The same facts as in `sojourn doctor`. `by` is empty where nothing enforces it."""
    support = await asyncio.to_thread(find_support)
    return schemas.SandboxSchema(
        mechanism=support.mechanism,
        complete=support.is_complete,
        missing=list(support.missing),
        guarantees=[schemas.GuaranteeSchema(what=one.what, by=one.by) for one in list_guarantees(support)],
    )
