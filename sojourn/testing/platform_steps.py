"""Steps of the platform contract: leaving out what cannot be tried, listening, and looking at what was written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sojourn.core.places import Place, build_session_key
from sojourn.ports.platform import Inbound, PlatformAdapter
from sojourn.testing.platform_rig import PATIENCE, Ear, PlatformRig, Posted, Trial


def need(rig: PlatformRig, *what: Trial) -> None:
    """Leaves the test out, with the reason the rig gives, if it lacks any of these."""
    for one in what:
        if one in rig.lacks:
            pytest.skip(f"lacks “{one}”: {rig.lacks[one]}")


def ability(adapter: PlatformAdapter, kind: type) -> None:
    if not isinstance(adapter, kind):
        pytest.skip(f"{adapter.info.name} has no {kind.__name__}, and need not")


@asynccontextmanager
async def listening(rig: PlatformRig, adapter: PlatformAdapter) -> AsyncIterator[Ear]:
    """An ear on a line that is up."""
    ear = Ear(adapter)
    ear.open()
    try:
        async with asyncio.timeout(PATIENCE):
            await rig.until_listening()
        yield ear
    finally:
        await ear.close()


async def hear_one(rig: PlatformRig, adapter: PlatformAdapter, place: Place, text: str) -> Inbound:
    """What becomes of something the first person writes there."""
    async with listening(rig, adapter) as ear:
        await rig.write(place, text, rig.people[0])
        return await ear.hear()


def key(heard: Inbound) -> str:
    return build_session_key(heard.place, heard.sender)


def ours(shown: list[Posted], rig: PlatformRig) -> list[Posted]:
    """What the account itself wrote."""
    return [one for one in shown if one.by not in {person.id for person in rig.people}]


def a_text(adapter: PlatformAdapter, longer: int = 0) -> str:
    """As long as it may be, or longer, in whatever the network counts."""
    size = {"characters": 1, "utf16": 2, "bytes": 4}[adapter.info.counting]
    room, words = adapter.info.max_chars // size, "\N{SEEDLING}"
    return (words * room)[: room - 1] + words * (1 + longer)
