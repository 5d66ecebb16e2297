"""The application: routes, plugin routers, the gate in front and the edge around."""

from __future__ import annotations

from fastapi import FastAPI

from sojourn.http import (
    attachments,
    chat,
    chat_commands,
    completions,
    entering,
    openapi,
    problems,
    runtimes,
    search,
    sessions,
    sse,
    status,
    transcripts,
    turns,
)
from sojourn.http.auth import Gate
from sojourn.http.live import Streams
from sojourn.http.mounts import Mounts
from sojourn.http.visitors import Visitors
from sojourn.http.working import Activity, Counted
from sojourn.ports.kit import Kit


def make_app(kit: Kit, *, token: str, host: str = "127.0.0.1") -> FastAPI:
    """All that is served. `host` is where the server listens; it decides which names it answers to.

    The pages that show the document are left out: they would load scripts from elsewhere.
    """
    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.kit, app.state.mounts, app.state.activity = kit, Mounts(kit), Activity()
    app.state.visitors = Visitors(token)
    app.state.streams = Streams(float(kit.settings["server.heartbeat_seconds"]))
    problems.install(app)
    talking = (turns, chat, chat_commands, sse, runtimes, completions, entering)
    for part in (status, sessions, transcripts, attachments, search, *talking):
        app.include_router(part.router)
    app.state.mounts.mount(app)
    app.openapi = openapi.describe(app)  # type: ignore[method-assign]
    app.add_middleware(Gate, token=token, host=host, visitors=app.state.visitors, shows=app.state.mounts.shows)
    app.add_middleware(Counted, activity=app.state.activity)
    app.add_middleware(problems.Edge)  # added last: the outermost
    return app
