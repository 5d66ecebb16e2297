"""The program a plugin's `router` runs in: a process of its own, with few rights and none of our secrets.

Started in its sandbox as `python -I -m sojourn.dashboard.plugin_main '{"name": …}'`. It listens on the socket it is
given.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse

from sojourn.root_logger import set_up_root_logger

ALIVE_PATH = "/alive"  # outside of what a plugin is asked for
RAISED_HEADER = "sojourn-raised"  # the header of an answer that tells of an exception


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginArguments:
    """What the server says on the command line."""

    name: str
    folder: str  # of the manifest
    api: str
    data: str  # where it may write
    socket: int
    memory_mb: int


def main() -> None:
    set_up_root_logger(None)
    given = PluginArguments(**json.loads(sys.argv[1]))
    listening = socket.socket(fileno=given.socket)
    _limit_resources(given.memory_mb)
    app = build_app(given.name, load_router(given))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _limit_resources(memory_mb: int) -> None:
    """Limits of this process and of each one that it starts; what they take together is the monitor's affair."""
    os.umask(0o077)
    most = memory_mb * 1024 * 1024
    with suppress(OSError, ValueError):  # not every system has it
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def load_router(given: PluginArguments) -> APIRouter:
    """The `router` of the plugin's file. Whatever it raises ends this process, and its last words are shown."""
    file = Path(given.folder) / given.api
    sys.path.append(str(file.parent))  # its other modules; behind everything, so that none takes our place
    name = f"sojourn_dashboard_plugin_{given.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    router = getattr(module, "router", None)
    if not isinstance(router, APIRouter):
        raise SystemExit(f"TypeError: `router` in {given.api} must be an APIRouter, not {type(router).__name__}")
    return router


def build_app(name: str, router: APIRouter) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    app.include_router(router, prefix=f"/api/plugins/{name}")

    @app.get(ALIVE_PATH)
    async def alive() -> bool:
        return True

    async def raised(request: Request, error: Exception) -> JSONResponse:
        body: dict[str, Any] = {"raised": f"{type(error).__name__}: {error}"[:1000]}
        return JSONResponse(body, 500, headers={RAISED_HEADER: "1"})

    app.add_exception_handler(Exception, raised)
    return app


if __name__ == "__main__":
    main()
