"""Contract: when a turn ends, its chunks become one event, and no reader notices."""

from __future__ import annotations

from random import Random

import pytest

from sojourn.core.events import Chunk, Done, Metadata, Progress, Yielded
from sojourn.core.messages import assistant
from sojourn.core.sessions import Recorded, SessionId, TurnId
from sojourn.ports.store import Store
from sojourn.testing.store_steps import begin, hold_lease

_TURN = TurnId("t1")


def _choose_items(chance: Random) -> list[Yielded]:
    """Mostly chunks, with odd characters, and other items among them."""
    items: list[Yielded] = []
    for _ in range(chance.randrange(20)):
        text = "".join(chance.choice('ab \x00\x1a\ud800é名"\\\n') for _ in range(chance.randrange(6)))
        others: list[Yielded] = [Progress("memory", {"title": "x"}), assistant("so far")]
        items.append(Chunk(text) if chance.random() < 0.8 else chance.choice(others))
    return items


def _text(kept: list[Recorded]) -> str:
    return "".join(one.item.text for one in kept if isinstance(one.item, Chunk))


async def _read(store: Store, session: SessionId, after: int = 0) -> list[Recorded]:
    return [one async for one in store.read(session, after=after)]


class FoldedChunksContract:
    """A reader gets the same text from any point it has seen, before and after the end of the turn."""

    @pytest.mark.parametrize("seed", range(12))
    async def test_any_point_yields_the_same_text_before_and_after_the_end(self, store: Store, seed: int) -> None:
        chance, session = Random(seed), await begin(store)
        items, size = _choose_items(chance), chance.randrange(1, 6)
        async with hold_lease(store, session) as lease:
            await store.append(lease, [Metadata(turn_id=_TURN)], turn=_TURN)
            for at in range(0, len(items), size):
                await store.append(lease, items[at : at + size], turn=_TURN)
            live = await _read(store, session)
            before = {one.seq: _text(await _read(store, session, one.seq)) for one in live}
            [done] = await store.append(lease, [Done()], turn=_TURN)
        kept = await _read(store, session)
        assert _text(kept) == _text(live)
        for seq, text in before.items():
            assert _text(await _read(store, session, seq)) == text
        others = [one for one in kept if not isinstance(one.item, Chunk)]
        assert others == [*(one for one in live if not isinstance(one.item, Chunk)), done]
        assert {one.seq for one in kept} <= {one.seq for one in live} | {done.seq}

    async def test_a_run_of_chunks_becomes_one_row_with_the_last_number(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            [first] = await store.append(lease, [Metadata(turn_id=_TURN)], turn=_TURN)
            chunks = await store.append(lease, [Chunk(f"{n} ") for n in range(100)], turn=_TURN)
            await store.append(lease, [assistant("all"), Done()], turn=_TURN)
            [later] = await store.append(lease, [Progress("memory", {"title": "x"})])
        kept = await _read(store, session)
        assert [one.seq for one in kept][:3] == [first.seq, chunks[-1].seq, chunks[-1].seq + 1]
        assert later.seq == chunks[-1].seq + 3
        assert (await store.stats()).events == 4

    async def test_the_chunks_of_another_turn_stay(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.append(lease, [Chunk("a"), Chunk("b")], turn=TurnId("t0"))
            await store.append(lease, [Metadata(turn_id=_TURN), Chunk("c"), Chunk("d"), Done()], turn=_TURN)
        texts = [one.item.text for one in await _read(store, session) if isinstance(one.item, Chunk)]
        assert texts == ["a", "b", "cd"]
