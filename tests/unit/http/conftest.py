"""A small world: a real store in a temporary home, a Kit that knows nothing else, a client that has the token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from sojourn import config
from sojourn.core.errors import SojournError
from sojourn.core.events import Yielded
from sojourn.core.sessions import Session, SessionId
from sojourn.http.app import make_app
from sojourn.http.mounts import Mounts
from sojourn.http.sse import Streams
from sojourn.ports.kit import Kit
from sojourn.ports.plugin import Plugin
from sojourn.ports.source import Found
from sojourn.ports.store import Listing, Removed
from sojourn.stores.sqlite.store import SqliteStore

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


class SmallKit:
    """As much of a Kit as HTTP asks for; `names` is what dotted names stand for."""

    def __init__(self, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.settings = config.load({"home": str(home)}, {"HOME": str(home.parent)})
        self.real_store = SqliteStore(home / "state.db")
        self.store_error: SojournError | None = None
        self.offered: list[Plugin] = []
        self.names: dict[str, Any] = {}
        self.histories: list[Found] = []
        self.lost: dict[str, SojournError] = {}

    @property
    def store(self) -> SqliteStore:
        if self.store_error:
            raise self.store_error
        return self.real_store

    def plugins(self) -> Sequence[Plugin]:
        return self.offered

    def plugin_problems(self) -> Mapping[str, SojournError]:
        return self.lost

    def load(self, dotted: str) -> object:
        return self.names[dotted]

    def find_histories(self, path: Path | None = None, source: str = "") -> list[Found]:
        return self.histories

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        return await self.store.forget(session)


@pytest.fixture
async def kit(home: Path) -> AsyncIterator[SmallKit]:
    made = SmallKit(home)
    yield made
    await made.real_store.close()


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
    return make_app(cast(Kit, SmallKit(tmp_path_factory.mktemp("home"))), token=TOKEN)


@pytest.fixture
def app(one_app: FastAPI, kit: SmallKit) -> FastAPI:
    one_app.state.kit, one_app.state.streams = kit, Streams()
    one_app.state.mounts = Mounts(cast(Kit, kit))
    return one_app


@pytest.fixture
async def client(kit: SmallKit, app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(kit, app=app) as made:
        yield made


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
