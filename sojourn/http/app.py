"""The application: routes, plugin routers, the gate in front and the edge around."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from sojourn.http import (
    attachments,
    chat,
    chat_commands,
    embeddings,
    event_routes,
    login,
    mcp_route,
    openapi,
    problems,
    proof,
    runtimes,
    sessions,
    shutdown,
    status,
    transcripts,
    trash,
    turns,
)
from sojourn.http.access_token import AccessToken
from sojourn.http.activity import Activity, ActivityMiddleware
from sojourn.http.admissions import Admissions
from sojourn.http.auth import AuthMiddleware
from sojourn.http.browser_sessions import BrowserSessions
from sojourn.http.lazy_router import LazyRouter
from sojourn.http.one_time_links import OneTimeLinks
from sojourn.http.phone_address import public_name
from sojourn.http.plugin_routes import PluginRoutes
from sojourn.http.sse import Streams
from sojourn.http.stats_cache import StatsCache
from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext

if TYPE_CHECKING:
    from sojourn.http.anthropic_messages import router as anthropic
    from sojourn.http.approvals import router as approvals
    from sojourn.http.completions import router as completions
    from sojourn.http.metrics import router as metrics
    from sojourn.http.responses import router as responses
    from sojourn.http.search import router as search

    _routers: list[APIRouter] = [anthropic, approvals, completions, metrics, responses, search]

_ON_DEMAND: Mapping[tuple[str, ...], Lazy[APIRouter]] = {  # by how their addresses begin
    ("/metrics",): Lazy("sojourn.http.metrics:router"),
    ("/api/search", "/api/facets", "/api/ask", "/api/resolve"): Lazy("sojourn.http.search:router"),
    ("/api/approvals", "/api/notices"): Lazy("sojourn.http.approvals:router"),
    ("/v1/chat/", "/v1/models"): Lazy("sojourn.http.completions:router"),
    ("/v1/responses",): Lazy("sojourn.http.responses:router"),
    ("/v1/messages",): Lazy("sojourn.http.anthropic_messages:router"),
}


def make_app(context: AppContext, *, token: str, host: str = "127.0.0.1") -> FastAPI:
    """All that is served. `host` is where the server listens; it decides which names it answers to.

    The pages that show the document are left out: they would load scripts from elsewhere.
    """
    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.context, app.state.mounts, app.state.activity = context, PluginRoutes(context), Activity()
    access, links = AccessToken(token), OneTimeLinks()
    browsers = BrowserSessions(lambda: app.state.context.store, lambda: access.mark)
    admissions = Admissions(access, browsers)
    app.state.access, app.state.links, app.state.browsers, app.state.admissions = access, links, browsers, admissions
    app.state.shutdown = shutdown.Shutdown()
    app.state.stats = StatsCache()
    app.state.streams = Streams(float(context.settings["server.heartbeat_seconds"]))
    problems.install(app)
    talking = (turns, chat_commands, event_routes, runtimes, login, proof)
    # a request is compared with one route after the other: where people wait, there is the first
    for part in (chat, status, shutdown, sessions, transcripts, trash, attachments, *talking):
        app.include_router(part.router)
    app.router.routes += [mcp_route.route, embeddings.route]
    on_demand = [LazyRouter(starts, partial(_include, one)) for starts, one in _ON_DEMAND.items()]
    for router in on_demand:
        app.include_router(router)
    app.state.mounts.mount(app)

    def build_routes() -> None:
        for router in on_demand:
            router.build_routes()
        app.state.mounts.build_routes()

    app.openapi = openapi.build_openapi(app, build_routes)  # type: ignore[method-assign]
    app.add_middleware(
        AuthMiddleware,
        access=access,
        browsers=browsers,
        admissions=admissions,
        host=host,
        public=public_name(str(context.settings["server.public_url"])),
        shows=app.state.mounts.shows,
    )
    app.add_middleware(ActivityMiddleware, activity=app.state.activity)
    app.add_middleware(problems.ErrorMiddleware)  # added last: the outermost
    return app


def _include(part: Lazy[APIRouter], into: APIRouter) -> None:
    into.include_router(part.load())
