"""Steps on a real network through a running gateway: a session is handed over, and goes on there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sojourn.core.places import Place
from sojourn.ports.platform import CanThread
from sojourn.testing.platform_harness import PostedMessage
from sojourn.testing.platform_steps import ours
from tests.integration.gateway.worlds import World, world

HELLO, ANSWER = "good morning", "and a rose"


async def read_ours(harness: Any, place: Place, count: int) -> list[PostedMessage]:
    """What our account has written there, when it is that much."""
    found: Sequence[PostedMessage] = ()
    try:
        async with asyncio.timeout(30):
            while len(found := ours(await harness.read_messages(place), harness)) < count:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"only {[one.text for one in found]}") from None
    return list(found)


def watch_threads(adapter: Any) -> list[Place]:
    """The threads that the adapter opens from now on."""
    opened = list[Place]()
    if isinstance(adapter, CanThread):
        create = adapter.create_handoff_thread

        async def create_and_note(parent: Place, name: str) -> Place:
            opened.append(await create(parent, name))
            return opened[-1]

        adapter.create_handoff_thread = create_and_note  # type: ignore[method-assign]
    return opened


@asynccontextmanager
async def gateway_on(harness: Any, adapter: Any, home: Any, store: Any, chat: str) -> AsyncIterator[World]:
    """A gateway that serves one network; a chat there is the home channel of its first person, who is the owner."""
    name, person = adapter.info.name, harness.people[0]
    owner = {"gateway_owners": f"{name}:{person.id}", "gateway_home": f"{name}:{chat}"}
    try:
        async with world(home, store, **owner) as at:
            await at.start(adapter)
            await harness.until_listening()
            yield at
    finally:
        await adapter.close()


async def hand_over_and_go_on(harness: Any, home: Any, store: Any, *, chat: str = "") -> None:
    """The owner writes in the home channel, hands a session of the terminal over to it, is spoken to first, and
    answers: in a thread where the network has threads, else in the home channel itself.

    chat: the home channel; the first one that can have threads if it is left out
    """
    adapter, person = harness.connect(), harness.people[0]
    has_threads = bool(chat or harness.threads)
    chat = chat or harness.chats[[*harness.threads, *harness.chats][0]]
    opened = watch_threads(adapter)
    async with gateway_on(harness, adapter, home, store, chat) as at:
        place = adapter.home(chat)
        await harness.write(place, HELLO, person)
        await at.until(lambda: at.runtime.seen, seconds=30)
        await at.quiet()
        session = await at.session("plant a tree", title="The garden")
        before = len(ours(await harness.read_messages(place), harness))
        done = await at.hand_over(session, adapter.info.name)
        assert done.state == "completed", done.error
        assert (len(opened), bool(done.thread_id)) == (has_threads, has_threads), done.note
        there = opened[0] if opened else place
        spoken = await read_ours(harness, there, 1 if opened else before + 1)
        assert "handed over" in at.runtime.seen[-1].said
        await go_on(harness, at, there, person, session.id, len(spoken))


async def go_on(harness: Any, at: World, there: Place, person: Any, session: str, said: int) -> None:
    """The answer of the person reaches the same session, and is answered where it was written."""
    turns = len(at.runtime.seen)
    await harness.write(there, ANSWER, person)
    shown = await read_ours(harness, there, said + 1)
    assert ANSWER in shown[-1].text
    assert [(one.session.id, one.said) for one in at.runtime.seen[turns:]] == [(session, ANSWER)]
    now = await at.service.get(session)
    assert (now.driver, now.handoff_state) == (there.platform, "completed")
