"""What a route is given: the kit, the store, the session a path names; and how parameters are described."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, cast

from fastapi import Depends, Path, Request

from sojourn.core.errors import BadInput
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.ports.kit import Kit
from sojourn.ports.whole import WholeStore

BIGGEST = 2**63 - 1  # the largest number every store can hold
CURSOR = r"^[0-9a-f]{16}-([0-9a-f]{2}){1,255}$"
Anything = dict[int | str, dict[str, Any]]


def kit(request: Request) -> Kit:
    return cast(Kit, request.app.state.kit)


def store(request: Request) -> WholeStore:
    """A store that cannot be opened raises here, and that is the answer; next time it is tried again."""
    return kit(request).store


async def _kit(request: Request) -> Kit:
    return kit(request)


async def _store(request: Request) -> WholeStore:
    return store(request)


KitHere = Annotated[Kit, Depends(_kit)]
StoreHere = Annotated[WholeStore, Depends(_store)]
Words = Annotated[
    str, Path(min_length=1, max_length=255, description="Its id, a unique beginning of it, or its title.")
]
ExactId = Annotated[str, Path(min_length=1, max_length=255, description="The full id: what changes things is exact.")]


async def _named(id: Words, store: StoreHere) -> Session:
    return await store.resolve(id, principal=OWNER)


async def _exact(id: ExactId, store: StoreHere) -> Session:
    return await store.get(SessionId(id), principal=OWNER)


Named = Annotated[Session, Depends(_named)]
Exact = Annotated[Session, Depends(_exact)]


def faults(*statuses: int) -> Anything:
    """The problems a route may answer with, for its documentation."""
    return {status: {"description": HTTPStatus(status).phrase} for status in statuses}


def cursor(session: Session) -> str:
    """Where a list goes on, as one word that needs no escaping in an address."""
    return f"{struct.pack('>d', session.last_active).hex()}-{session.id.encode('utf-8', 'surrogatepass').hex()}"


def place(cursor: str | None) -> tuple[float, str] | None:
    """The place a cursor stands for."""
    if cursor is None:
        return None
    moment, _, name = cursor.partition("-")
    return struct.unpack(">d", bytes.fromhex(moment))[0], bytes.fromhex(name).decode("utf-8", "replace")


def revision(if_match: str | None) -> int | None:
    """The revision an `If-Match` header speaks of; `*` and nothing mean any."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"?(\d{1,18})"?\s*', if_match)
    if not found:
        raise BadInput(f"If-Match is {if_match!r}.", hint='Give the revision, e.g. If-Match: "3".')
    return int(found[1])


def etag(session: Session) -> Mapping[str, str]:
    return {"ETag": f'"{session.revision}"'}
