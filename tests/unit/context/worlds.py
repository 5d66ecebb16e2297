"""Conversations made of plain lines, and the requests sources are asked with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER, Lease, Principal, Recorded, Session
from sojourn.ports.context import ContextRequest
from sojourn.testing.app import FakeApp

GUEST = Principal("guest-ada")


async def told(
    kit: FakeApp, *lines: str, title: str | None = None, principal: Principal = OWNER, session: Session | None = None
) -> Session:
    """A session in which these lines were said, by the person and the agent in turn."""
    session = session or await kit.store.create(title=title, principal=principal)
    lease = await kit.store.lease(session.id, holder="test", surface="cli")
    messages = [Message(role="assistant" if n % 2 else "user", content=line) for n, line in enumerate(lines)]
    await kit.store.append(lease, messages)
    await kit.store.renew(lease, 0)
    return await kit.store.get(session.id)


async def lease_of(kit: FakeApp, session: Session) -> Lease:
    return await kit.store.lease(session.id, holder="test", surface="cli")


async def log_of(kit: FakeApp, session: Session) -> list[Recorded]:
    return [kept async for kept in kit.store.read(session.id)]


async def request(kit: FakeApp, session: Session, said: str, **given: Any) -> ContextRequest:
    """What the service asks a source: with the live transcript as history."""
    items = [kept.item for kept in await log_of(kit, session)]
    history = tuple(item for item in items if isinstance(item, Message) and item.active)
    return replace(ContextRequest(session=await kit.store.get(session.id), said=said, history=history), **given)
