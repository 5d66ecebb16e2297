"""Several gateways on one store, one of them killed in the middle of its work: nothing is lost, nothing done twice."""

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from sojourn.ports.store import Store
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore

CLAIMER = Path(__file__).with_name("claimers.py")
MESSAGES, PLACES = 120, 12


class Gateway:
    """One process, and every line it was able to say."""

    def __init__(self, kind: str, place: str, name: str) -> None:
        command = [sys.executable, str(CLAIMER), kind, place, name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.name, self.said = name, list[list[str]]()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.said.append(line.split())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        assert self.process.stdout
        self.process.stdout.close()

    def of(self, word: str) -> list[list[str]]:
        return [line[1:] for line in self.said if line[0] == word]


async def settled(store: Store) -> None:
    """Everything was answered and sent."""
    async with asyncio.timeout(60):
        async for _ in store.watch_gateway(seconds=0.2):
            left = await store.incoming(states=["waiting", "running"], limit=1)
            left_out = await store.outgoing(states=["pending", "sending"], limit=1)
            if not left and not left_out and len(await store.outgoing(limit=1000)) == MESSAGES:
                return


async def work_through(kind: str, place: str, store: Store) -> None:
    for number in range(MESSAGES):
        await store.add_incoming("local", "a", f"m{number}", place=f"p{number % PLACES}", payload=number)
    gateways = [Gateway(kind, place, f"g{number}") for number in range(3)]
    try:
        victim = await first_to_begin(gateways)
        victim.kill()
        gateways.remove(victim)
        await settled(store)
    finally:
        for gateway in gateways:
            gateway.kill()
    await judge(store, victim, gateways)


async def first_to_begin(gateways: list[Gateway]) -> Gateway:
    """A gateway in the middle of its work. A slow one may find nothing left to do."""
    async with asyncio.timeout(60):
        while not (begun := [one for one in gateways if one.said]):
            await asyncio.sleep(0.001)
    return begun[0]


async def judge(store: Store, victim: Gateway, others: list[Gateway]) -> None:
    done = await store.incoming(limit=1000)
    sent = await store.outgoing(limit=1000)
    assert {one.state for one in done} == {"done"}
    assert [one.attempts for one in sent if not one.possible_duplicate] == [1] * sum(
        not one.possible_duplicate for one in sent
    )
    claims = Counter(line[0] for gateway in others for line in gateway.of("claimed"))
    assert set(claims.values()) <= {1}, "two living gateways claimed one row"
    sendings = Counter(line[0] for gateway in others for line in gateway.of("sending"))
    assert set(sendings.values()) <= {1}, "two living gateways sent one message"
    taken_over = {one.id for one in done if one.attempts > 1}
    assert taken_over <= {int(line[0]) for line in victim.of("claimed")} | unsaid(done, victim, others)
    assert Counter(one.payload for one in sent) == Counter(f"m{number}" for number in range(MESSAGES))
    for place in range(PLACES):
        order = [int(one.payload[1:]) for one in sent if one.place == f"p{place}"]
        assert order == sorted(order), "a place was answered out of order"


def unsaid(done: list, victim: Gateway, others: list[Gateway]) -> set[int]:
    """What the victim had claimed and could not say any more: at most one claim's worth."""
    said = {int(line[0]) for gateway in (victim, *others) for line in gateway.of("claimed") if line[1] == "1"}
    missing = {one.id for one in done} - said
    assert len(missing) <= 4
    return missing


@pytest.mark.timeout(180)
async def test_gateways_in_several_processes_share_one_sqlite_file(home):
    home.mkdir()
    store = SqliteStore(home / "state.db")
    await work_through("sqlite", str(home / "state.db"), store)
    await store.close()


@pytest.mark.postgres
@pytest.mark.timeout(180)
async def test_gateways_in_several_processes_share_one_database(databases):
    url = databases()
    store = PostgresStore(url)
    await work_through("postgres", url, store)
    await store.close()
