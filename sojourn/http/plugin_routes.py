"""Plugin routers under `/api/plugins/<name>/`. One that fails is listed with its reason; the rest stands."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.routing import BaseRoute, Match
from starlette.types import Lifespan

from sojourn.core.errors import BadInput, PluginFailed, SojournError
from sojourn.http.schemas import PluginSchema
from sojourn.ports.app import AppContext
from sojourn.ports.plugin import Part, Plugin, dotted_name

logger = logging.getLogger(__name__)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_START_SECONDS, _STOP_SECONDS = 10.0, 0.7  # seconds a plugin may take to start and to stop


class PluginRoutes:
    """The plugins of a server and what became of their routes."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._infos: dict[str, PluginSchema] = {}
        self._pages: list[BaseRoute] = []

    def shows(self, path: str) -> bool:
        """Whether a page is there, which anybody may see: it holds nothing but what everybody has installed."""
        scope = {"type": "http", "method": "GET", "path": path, "root_path": "", "headers": []}
        return any(route.matches(scope)[0] is not Match.NONE for route in self._pages)

    def mount(self, app: FastAPI) -> None:
        """Every plugin that brings routes gets its place; nothing one of them does is fatal."""
        for plugin in self._context.plugins():
            self._infos[plugin.name] = info = _info(plugin)
            self._mount_pages(app, plugin, info)
            if not plugin.routes:
                continue
            info.address = f"/api/plugins/{plugin.name}"
            try:
                for dotted in plugin.routes:
                    router = self._router(plugin, dotted)
                    router.lifespan_context = _guard_lifespan(router.lifespan_context, info)
                    app.include_router(
                        router, prefix=info.address, tags=[plugin.name], dependencies=[_require_loaded(info)]
                    )
            except Exception as error:  # noqa: BLE001  a stranger's code may raise anything
                _mark_failed(info, error)
                app.include_router(_unavailable_router(info), prefix=info.address)
        for plugin in self._context.plugins():
            self._mount_hosts(app, plugin)

    def _mount_hosts(self, app: FastAPI, plugin: Plugin) -> None:
        """Behind everybody's routes, so that nobody who comes and goes stands before one who stays."""
        try:
            for dotted in plugin.catch_all_routes:
                app.include_router(self._router(plugin, dotted), prefix="/api/plugins", include_in_schema=False)
        except Exception as error:  # noqa: BLE001  a stranger's code may raise anything
            _mark_failed(self._infos[plugin.name], error)

    def _mount_pages(self, app: FastAPI, plugin: Plugin, info: PluginSchema) -> None:
        """Pages stand at the root, and need no token."""
        try:
            for dotted in plugin.page_routes:
                router = self._router(plugin, dotted)
                app.include_router(router, include_in_schema=False)
                self._pages += router.routes
        except Exception as error:  # noqa: BLE001  a stranger's code may raise anything
            _mark_failed(info, error)

    def _router(self, plugin: Plugin, part: Part) -> APIRouter:
        if not re.fullmatch(r"[A-Za-z0-9][\w.-]*", plugin.name, re.ASCII):
            raise BadInput(f"{plugin.name!r} cannot be part of an address.", hint="Use letters, digits and -.")
        make: Callable[[AppContext], Any] = self._context.load(part)  # type: ignore[assignment]
        router = make(self._context)
        if not isinstance(router, APIRouter):
            raise BadInput(
                f"{dotted_name(part)} gave {type(router).__name__}.", hint="It must be `router(app) -> APIRouter`."
            )
        if not dotted_name(part).startswith("sojourn."):  # a test describes ours; what cannot be described breaks here
            get_openapi(title=plugin.name, version="0", routes=router.routes)
        return router

    def plugins(self) -> list[PluginSchema]:
        """All plugins, those that could not be loaded at all last."""
        failed = self._context.plugin_problems()
        lost = [PluginSchema(name=name, summary="", problem=str(why)) for name, why in failed.items()]
        return [*self._infos.values(), *(info for info in lost if info.name not in self._infos)]


def _info(plugin: Plugin) -> PluginSchema:
    return PluginSchema(
        name=plugin.name,
        summary=plugin.summary,
        commands=[dotted_name(one) for one in plugin.commands],
        routes=[dotted_name(one) for one in plugin.routes],
        sources=len(plugin.sources),
        store=plugin.store is not None,
    )


def _mark_failed(info: PluginSchema, error: Exception) -> None:
    logger.error("the routes of plugin %s cannot be used", info.name, exc_info=error)
    info.problem = str(error) if isinstance(error, SojournError) else f"{type(error).__name__}: {error}"


def _to_plugin_failed(info: PluginSchema) -> PluginFailed:
    return PluginFailed(
        f'The plugin "{info.name}" cannot be used: {info.problem}', hint="The log has more. Update it or remove it."
    )


def _require_loaded(info: PluginSchema) -> Any:
    """A plugin that could not start answers with the reason."""

    async def check() -> None:
        if info.problem:
            raise _to_plugin_failed(info)

    return Depends(check)


def _unavailable_router(info: PluginSchema) -> APIRouter:
    """Stands where a plugin's routes should be, and says why they are not."""
    router = APIRouter()

    @router.api_route("/{rest:path}", methods=_METHODS, include_in_schema=False)
    async def closed(rest: str) -> None:
        raise _to_plugin_failed(info)

    return router


def _guard_lifespan(lifespan: Lifespan[Any], info: PluginSchema) -> Lifespan[Any]:
    """A plugin's own beginning and end: if they fail or take too long, the server does not."""

    @asynccontextmanager
    async def guarded(app: Any) -> AsyncIterator[None]:
        inner = lifespan(app)
        try:
            async with asyncio.timeout(_START_SECONDS):
                await inner.__aenter__()
        except Exception as error:  # noqa: BLE001  a stranger's code may raise anything
            _mark_failed(info, error)
            yield
            return
        yield
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await inner.__aexit__(None, None, None)
        except Exception:
            logger.exception("plugin %s did not end well", info.name)

    return guarded
