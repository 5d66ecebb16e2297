"""Steps of the platform contract: leaving out what cannot be tried, listening, and looking at what was written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sojourn.core.places import Place, build_session_key
from sojourn.ports.platform import Inbound, PlatformAdapter
from sojourn.testing.platform_harness import TIMEOUT_SECONDS, InboundListener, PlatformHarness, PostedMessage, Trial


def need(harness: PlatformHarness, *what: Trial) -> None:
    """Leaves the test out, with the reason the harness gives, if it lacks any of these."""
    for one in what:
        if one in harness.lacks:
            pytest.skip(f"lacks “{one}”: {harness.lacks[one]}")


def ability(adapter: PlatformAdapter, kind: type) -> None:
    if not isinstance(adapter, kind):
        pytest.skip(f"{adapter.info.name} has no {kind.__name__}, and need not")


@asynccontextmanager
async def listening(harness: PlatformHarness, adapter: PlatformAdapter) -> AsyncIterator[InboundListener]:
    """An ear on a line that is up."""
    ear = InboundListener(adapter)
    ear.open()
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await harness.until_listening()
        yield ear
    finally:
        await ear.close()


async def hear_one(harness: PlatformHarness, adapter: PlatformAdapter, place: Place, text: str) -> Inbound:
    """What becomes of something the first person writes there."""
    async with listening(harness, adapter) as ear:
        await harness.write(place, text, harness.people[0])
        return await ear.hear()


def key(heard: Inbound) -> str:
    return build_session_key(heard.place, heard.sender)


def ours(shown: list[PostedMessage], harness: PlatformHarness) -> list[PostedMessage]:
    """What the account itself wrote."""
    return [one for one in shown if one.by not in {person.id for person in harness.people}]


def a_text(adapter: PlatformAdapter, longer: int = 0) -> str:
    """As long as it may be, or longer, in whatever the network counts."""
    size = {"characters": 1, "utf16": 2, "bytes": 4}[adapter.info.counting]
    room, words = adapter.info.max_chars // size, "\N{SEEDLING}"
    return (words * room)[: room - 1] + words * (1 + longer)
