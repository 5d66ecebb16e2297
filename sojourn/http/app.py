"""The application: routes, plugin routers, the gate in front and the edge around."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI

from sojourn.http import (
    approvals,
    attachments,
    chat,
    chat_commands,
    embeddings,
    event_routes,
    login,
    mcp_route,
    metrics,
    openapi,
    problems,
    proof,
    runtimes,
    search,
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
    from sojourn.http.anthropic_messages import router as anthropic_router
    from sojourn.http.completions import router as completions_router
    from sojourn.http.responses import router as responses_router

    _routers: list[APIRouter] = [completions_router, responses_router, anthropic_router]

_MODEL_APIS: tuple[Lazy[APIRouter], ...] = (  # of OpenAI and of Anthropic
    Lazy("sojourn.http.completions:router"),
    Lazy("sojourn.http.responses:router"),
    Lazy("sojourn.http.anthropic_messages:router"),
)


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
    talking = (turns, approvals, chat_commands, event_routes, runtimes, login, proof)
    # a request is compared with one route after the other: where people wait, there is the first
    for part in (chat, status, metrics, shutdown, sessions, transcripts, trash, attachments, search, *talking):
        app.include_router(part.router)
    app.router.routes += [mcp_route.route, embeddings.route]
    app.include_router(model_apis := LazyRouter(("/v1/",), _include_model_apis))
    app.state.mounts.mount(app)

    def build_routes() -> None:
        model_apis.build_routes()
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


def _include_model_apis(router: APIRouter) -> None:
    for one in _MODEL_APIS:
        router.include_router(one.load())
