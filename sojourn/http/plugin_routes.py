"""Plugin routers under `/api/plugins/<name>/`. One that fails is listed with its problem; the others work."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute, Match
from starlette.types import Lifespan

from sojourn.core.errors import BadInput, NotAllowed, PluginFailed, SojournError
from sojourn.core.sessions import OWNER
from sojourn.http.lazy_router import LazyRouter
from sojourn.http.schemas import PluginSchema
from sojourn.lazy import dotted_name
from sojourn.ports.app import AppContext
from sojourn.ports.plugin import Part, Plugin

logger = logging.getLogger(__name__)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_FOR_GUESTS = tuple(  # these look at the principal themselves
    f"/api/plugins/{path}" for path in ("memory/facts", "memory/used/", "gateway/sessions/", "gateway/handoffs")
)
WITH_LIFESPAN = {"import-watch", "hermes-achievements", "gateway", "schedules", "dashboard"}  # run from the start on
_START_SECONDS, _STOP_SECONDS = 10.0, 0.7  # seconds a plugin may take to start and to stop


class PluginRoutes:
    """The plugins of a server, and which of their routes work."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._infos: dict[str, PluginSchema] = {}
        self._pages: list[BaseRoute] = []
        self.shows = lru_cache(maxsize=256)(self._shows)  # asked for each request
        self._lazy: list[LazyRouter] = []

    def _shows(self, path: str) -> bool:
        """Whether a page is at this path. Pages need no token: they hold nothing private."""
        scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}
        return any(route.matches(scope)[0] is not Match.NONE for route in self._pages)

    def mount(self, app: FastAPI) -> None:
        """Mounts the pages and routes of every plugin. One that fails answers with its problem; the others work."""
        plugins = self._context.plugins()
        for plugin in plugins:
            self._infos[plugin.name] = info = _info(plugin)
            with _record_failure(info):
                self._mount_pages(app, plugin)
            if plugin.routes:
                info.address = f"/api/plugins/{plugin.name}"
                self._mount_routes(app, plugin, info)
        for plugin in plugins:  # behind the routes of every plugin: a catch-all must not hide any
            with _record_failure(self._infos[plugin.name]):
                for part in plugin.catch_all_routes:
                    app.include_router(self._router(plugin, part), prefix="/api/plugins", include_in_schema=False)

    def _mount_pages(self, app: FastAPI, plugin: Plugin) -> None:
        """Pages are at the root, and need no token."""
        for part in plugin.page_routes:
            router = self._router(plugin, part)
            app.include_router(router, include_in_schema=False)
            self._pages += router.routes

    def _mount_routes(self, app: FastAPI, plugin: Plugin, info: PluginSchema) -> None:
        """Mounts the routes of a plugin; those of ours that run nothing besides are built when first asked for."""

        def build(router: APIRouter) -> None:
            with _record_failure(info):
                self._include_routes(router, plugin, info)
            if info.problem:
                router.include_router(_unavailable_router(info), prefix=info.address or "")

        if all(_is_ours(part) for part in plugin.routes) and plugin.name not in WITH_LIFESPAN:
            self._lazy.append(lazy := LazyRouter((info.address or "",), build))
            app.include_router(lazy)
        else:
            build(app.router)

    def _include_routes(self, into: APIRouter, plugin: Plugin, info: PluginSchema) -> None:
        for part in plugin.routes:
            router = self._router(plugin, part)
            router.lifespan_context = _guard_lifespan(router.lifespan_context, info)
            checks = [_require_loaded(info)]
            if _is_ours(part):  # others decide for themselves whom they answer
                checks.append(Depends(_require_owner))
            into.include_router(router, prefix=info.address or "", tags=[plugin.name], dependencies=checks)

    def build_routes(self) -> None:
        """Builds what waits for its first request."""
        for one in self._lazy:
            one.build_routes()

    def _router(self, plugin: Plugin, part: Part) -> APIRouter:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", plugin.name, re.ASCII):
            raise BadInput(f"{plugin.name!r} cannot be part of an address.", hint="Use letters, digits and -.")
        make: Callable[[AppContext], Any] = self._context.load(part)  # type: ignore[assignment]
        router = make(self._context)
        if not isinstance(router, APIRouter):
            raise BadInput(
                f"{dotted_name(part)} returned {type(router).__name__}.", hint="It must be `router(app) -> APIRouter`."
            )
        if not _is_ours(part):  # fails here if it cannot be described; a test checks our own
            get_openapi(title=plugin.name, version="0", routes=router.routes)
        return router

    def plugins(self) -> list[PluginSchema]:
        """All plugins, those that could not be loaded at all last."""
        failed = self._context.plugin_problems()
        lost = [PluginSchema(name=name, summary="", problem=str(why)) for name, why in failed.items()]
        return [*self._infos.values(), *(info for info in lost if info.name not in self._infos)]


def _is_ours(part: Part) -> bool:
    return dotted_name(part).startswith("sojourn.")


def _info(plugin: Plugin) -> PluginSchema:
    return PluginSchema(
        name=plugin.name,
        summary=plugin.summary,
        commands=[dotted_name(one) for one in plugin.commands],
        routes=[dotted_name(one) for one in plugin.routes],
        sources=len(plugin.sources),
        store=plugin.store is not None,
    )


@contextmanager
def _record_failure(info: PluginSchema) -> Iterator[None]:
    """Makes any exception the plugin's `problem`, so that a plugin never stops the server."""
    try:
        yield
    except Exception as error:
        logger.error("plugin %s failed", info.name, exc_info=error)
        info.problem = str(error) if isinstance(error, SojournError) else f"{type(error).__name__}: {error}"


def _to_plugin_failed(info: PluginSchema) -> PluginFailed:
    return PluginFailed(
        f'The plugin "{info.name}" cannot be used: {info.problem}', hint="The log has more. Update it or remove it."
    )


def _require_loaded(info: PluginSchema) -> Any:
    """A dependency that answers with the problem of a plugin that could not start."""

    async def check() -> None:
        if info.problem:
            raise _to_plugin_failed(info)

    return Depends(check)


async def _require_owner(request: Request) -> None:
    """Refuses who asks in a guest's place: what plugins keep is the owner's. NotAllowed."""
    is_owner = unquote(request.headers.get("sojourn-principal", "")) in ("", OWNER)
    if not is_owner and not request.url.path.startswith(_FOR_GUESTS):
        raise NotAllowed("Only the owner may ask for this.", hint="Leave the header Sojourn-Principal out.")


def _unavailable_router(info: PluginSchema) -> APIRouter:
    """Answers in place of a plugin's routes with the reason why they are missing."""
    router = APIRouter()

    @router.api_route("/{rest:path}", methods=_METHODS, include_in_schema=False)
    async def closed(rest: str) -> None:
        raise _to_plugin_failed(info)

    return router


def _guard_lifespan(lifespan: Lifespan[Any], info: PluginSchema) -> Lifespan[Any]:
    """The lifespan of a plugin's router; if it fails or takes too long, the server goes on."""

    @asynccontextmanager
    async def guarded(app: Any) -> AsyncIterator[None]:
        inner, is_started = lifespan(app), False
        with _record_failure(info):
            async with asyncio.timeout(_START_SECONDS):
                await inner.__aenter__()
            is_started = True
        yield
        if is_started:
            with _record_failure(info):
                async with asyncio.timeout(_STOP_SECONDS):
                    await inner.__aexit__(None, None, None)

    return guarded
