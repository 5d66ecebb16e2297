"""A small world: a real store and a real service in a temporary home, one runtime, a client that has the token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from sojourn import config
from sojourn.core.errors import NotFound, SojournError
from sojourn.core.events import Yielded
from sojourn.core.sessions import Session, SessionId
from sojourn.http.app import make_app
from sojourn.http.plugin_routes import PluginRoutes
from sojourn.http.sse import Streams
from sojourn.ports.app import AppContext
from sojourn.ports.context import ContextSource
from sojourn.ports.importer import FoundHistory
from sojourn.ports.plugin import Plugin
from sojourn.ports.store import Listing, Removed
from sojourn.ports.tool import Tool
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.scripted_runtime import ScriptedRuntime

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class SmallKit:
    """As much of a AppContext as HTTP asks for; `names` is what dotted names stand for."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.settings = config.load({"home": str(home)}, {"HOME": str(home.parent)})
        self.real_store = SqliteStore(home / "state.db")
        self.store_error: SojournError | None = None
        self.offered: list[Plugin] = []
        self.names: dict[str, Any] = {}
        self.histories: list[FoundHistory] = []
        self.lost: dict[str, SojournError] = {}
        self.scripted = ScriptedRuntime()

    @property
    def store(self) -> SqliteStore:
        if self.store_error:
            raise self.store_error
        return self.real_store

    @cached_property
    def service(self) -> LocalService:
        return LocalService(cast(AppContext, self))

    def runtime_names(self) -> tuple[str, ...]:
        return ("scripted",)

    def runtime(self, name: str) -> ScriptedRuntime:
        if name != "scripted":
            raise NotFound(f'There is no runtime "{name}".', hint="There are: scripted.")
        return self.scripted

    def tools(self) -> tuple[Tool, ...]:
        return ()

    def context(self) -> tuple[ContextSource, ...]:
        return ()

    def plugins(self) -> Sequence[Plugin]:
        return self.offered

    def plugin_problems(self) -> Mapping[str, SojournError]:
        return self.lost

    def load(self, dotted: str) -> object:
        return self.names[dotted]

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        return self.histories

    async def delete(self, session: SessionId) -> Removed:
        return await self.store.delete(session)

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        return await self.store.forget(session)


@pytest.fixture
async def kit(home: Path) -> AsyncIterator[SmallKit]:
    made = SmallKit(home)
    yield made
    if "service" in made.__dict__:
        await made.service.close()
    await made.real_store.close()


@pytest.fixture
def scripted(kit: SmallKit) -> ScriptedRuntime:
    return kit.scripted


@pytest.fixture
def store(kit: SmallKit) -> SqliteStore:
    return kit.real_store


def connect(
    kit: Any, headers: Mapping[str, str] = BEARER, host: str = "127.0.0.1", app: FastAPI | None = None
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app or make_app(kit, token=TOKEN, host=host))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@pytest.fixture(scope="session")
def one_app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An app's first request takes as long as thirty others, so tests without plugins share one."""
    return make_app(cast(AppContext, SmallKit(tmp_path_factory.mktemp("home"))), token=TOKEN)


@pytest.fixture
def app(one_app: FastAPI, kit: SmallKit) -> FastAPI:
    one_app.state.context, one_app.state.streams = kit, Streams()
    one_app.state.mounts = PluginRoutes(cast(AppContext, kit))
    return one_app


@pytest.fixture
async def client(kit: SmallKit, app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(kit, app=app) as made:
        yield made


class Listener:
    """A client that reads frames as they come, below the client library, which would wait for the end."""

    def __init__(self, app, path, query="", headers=(), body=None):
        self.heard: asyncio.Queue = asyncio.Queue()
        self.status, self.ended, self.beats = 0, False, 0
        self._gone = asyncio.Event()
        self._asked, self._body = False, body or b""
        head = [(b"host", b"localhost"), (b"authorization", BEARER["Authorization"].encode()), *headers]
        scope = {
            "type": "http",
            "method": "GET" if body is None else "POST",
            "path": path,
            "query_string": query.encode(),
            "headers": [*head, (b"content-type", b"application/json")],
            "http_version": "1.1",
            "scheme": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "raw_path": path.encode(),
            "root_path": "",
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.beats += message["body"] == b":\n\n"
            for block in message["body"].decode().split("\n\n"):
                if block and block != ":" and not block.startswith("retry"):
                    self.heard.put_nowait(dict(line.split(": ", 1) for line in block.split("\n")))
            self.ended = not message.get("more_body")

    async def frames(self, number):
        return [await asyncio.wait_for(self.heard.get(), 5) for _ in range(number)]

    async def until(self, name):
        """The frames up to the first one of that name."""
        found = []
        while not found or found[-1]["event"] != name:
            found += await self.frames(1)
        return found

    async def hang_up(self):
        self._gone.set()
        await asyncio.wait_for(self.task, 5)


async def say(store: SqliteStore, session: Session | str, *items: Yielded) -> None:
    """Appends as a turn would."""
    name = SessionId(session if isinstance(session, str) else session.id)
    lease = await store.lease(name, holder="a test", surface="cli")
    await store.append(lease, items)
    await store.renew(lease, 0)


def ping_router(kit: SmallKit) -> APIRouter:
    router = APIRouter()

    @router.get("/ping")
    async def ping() -> dict[str, int]:
        return {"sessions": len(await kit.store.find(Listing()))}

    @router.get("/bug")
    async def bug() -> None:
        raise ZeroDivisionError

    return router


def offer(kit: SmallKit, name: str, router: Callable[[SmallKit], Any] = ping_router) -> None:
    kit.names[f"{name}.routes:router"] = router
    kit.offered.append(Plugin(name=name, summary=f"The plugin {name}.", routes=(f"{name}.routes:router",)))
