"""Long requests, of a guest or a program: what is prepared for their turn holds up nobody else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sojourn.context.ask import ask_history
from sojourn.core.messages import user
from sojourn.ports.context import ContextRequest
from sojourn.runtimes.offline.actions import _EXIT_LINE, _MENTION
from tests.integration.tools.tool_workspace import open_kit

MAX_LOOP_SECONDS = 0.5  # generous: it was up to 3.6
REQUESTS = {
    "Chinese": "你好" * 100_000,
    "different words": " ".join(f"word{number}" for number in range(30_000)),
    "months": "remember in march " * 12_000,
    "names and values": "key=" * 50_000,
    "commas": "x" + "," * 200_000 + "x",
    "question marks": "x" + "?" * 200_000 + "x",
}


@contextmanager
def little_time() -> Iterator[None]:
    began = time.thread_time()
    yield
    assert time.thread_time() - began < MAX_LOOP_SECONDS


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_turn_is_prepared_in_a_moment(name: str) -> None:
    async with open_kit() as kit:
        past, now = await kit.store.create(), await kit.store.create()
        lease = await kit.store.lease(past.id, holder="a test", surface="cli", seconds=60)
        said = [user(f"we decided about word{number} and roses in march, 你好") for number in range(100)]
        await kit.store.append(lease, said)
        for source in kit.context():
            with little_time():
                await source.contribute(ContextRequest(session=now, said=REQUESTS[name], budget=2000))


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_question_to_the_history_is_answered_in_a_moment(name: str) -> None:
    async with open_kit() as kit:
        await kit.store.create()
        with little_time():
            await ask_history(kit, REQUESTS[name], runtime="")


async def test_a_long_request_is_still_recalled_by_its_beginning() -> None:
    async with open_kit() as kit:
        past, now = await kit.store.create(title="Garden"), await kit.store.create()
        lease = await kit.store.lease(past.id, holder="a test", surface="cli", seconds=60)
        await kit.store.append(lease, [user("We decided to prune the roses in the old garden in March.")])
        (recall,) = [source for source in kit.context() if source.name == "recall"]
        said = "When did we decide to prune the roses?" + " and" * 50_000
        found = await recall.contribute(ContextRequest(session=now, said=said, budget=2000))
        assert "roses" in "".join(block.text for block in found.blocks)


def test_results_of_tools_are_read_in_a_moment() -> None:
    with little_time():
        _EXIT_LINE.sub("", "x" + "\n" * 100_000 + "x")
    with little_time():
        list(_MENTION.finditer('- "' + ', - ", 1, ' * 10_000))
    assert _EXIT_LINE.sub("", "out\n\n[exit code 0]\n") == "out"
