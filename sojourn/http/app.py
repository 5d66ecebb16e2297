"""The application: routes, plugin routers, the gate in front and the edge around."""

from __future__ import annotations

from fastapi import FastAPI

from sojourn.http import openapi, problems, search, sessions, sse, status, transcripts
from sojourn.http.auth import Gate
from sojourn.http.mounts import Mounts
from sojourn.ports.kit import Kit


def make_app(kit: Kit, *, token: str, host: str = "127.0.0.1") -> FastAPI:
    """All that is served. `host` is where the server listens; it decides which names it answers to.

    The pages that show the document are left out: they would load scripts from elsewhere.
    """
    app = FastAPI(docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.kit, app.state.streams, app.state.mounts = kit, sse.Streams(), Mounts(kit)
    problems.install(app)
    for part in (status, sessions, transcripts, search, sse):
        app.include_router(part.router)
    app.state.mounts.mount(app)
    app.openapi = openapi.describe(app)  # type: ignore[method-assign]
    app.add_middleware(Gate, token=token, host=host)
    app.add_middleware(problems.Edge)  # added last: the outermost
    return app
