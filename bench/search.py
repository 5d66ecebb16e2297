"""How long search and recall take on a big history, and how large its file is.

Ten thousand sessions with 120,000 messages; then copies of them, until there are a million. Times are CPU time of the
whole process, so that other work on the machine does not count; the files are in the cache of the system.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench.report import RESULTS, Bar, limit, save_result
from bench.sample_rows import CHINESE_WORD, COMMON, RARE, WORDS
from bench.sojourn_store import fill, multiply
from sojourn import config
from sojourn.app import App
from sojourn.context.embeddings import Embedders
from sojourn.context.facts import FactRecords, UserMemory
from sojourn.context.recall import Recall
from sojourn.core.sessions import Session
from sojourn.ports.context import ContextRequest
from sojourn.ports.store import SearchQuery

SESSIONS, MESSAGES, SIZE, TIMES = 10_000, 12, 960, 9  # nine times 120,000 messages is over a million
ROUNDS = 15
FACTS = 3000
SEARCHES = {  # what is looked for, and how long it may take
    "a common word": (COMMON, 3.0),
    "two words, ranked": (f"{COMMON} {RARE}", 10.0),
    "two common words, ranked": (f"{COMMON} connect", 10.0),
    "a phrase that is there": ('"process project"', 15.0),
    "a phrase of common words that is nowhere": ('"result table query index layout"', 15.0),
    "a beginning": ("connec*", 10.0),
    "two Chinese characters": (CHINESE_WORD, 8.0),
}
REQUESTS = (
    "what did we decide about the cache of the layout section?",
    "how did I fix the path of the target template last time",
    f"where did we mention {RARE}?",
    "did we ever change the schema of the sample table?",
    "which branch did I use for the handler of the stream",
    "why was the timeout of the 数据库连接 so short",
)


async def measure_times(work: Callable[[int], Awaitable[object]], rounds: int) -> list[float]:
    """Returns milliseconds of CPU time, sorted."""
    await work(0)
    spent: list[float] = []
    for number in range(rounds):
        begun = time.process_time()
        await work(number)
        spent.append(1000 * (time.process_time() - begun))
    return sorted(spent)


async def measure_searches(app: App, count: int, factor: float) -> list[Bar]:
    bars: list[Bar] = []
    for name, (text, most) in SEARCHES.items():

        async def look(_: int, text: str = text) -> object:
            return await app.store.search(SearchQuery(text=text, limit=20, order="relevance"))

        times = await measure_times(look, ROUNDS)
        bars.append(limit(f"{count:,} messages: search for {name}", statistics.median(times), "ms", most=most * factor))
    return bars


async def measure_recall(app: App, session: Session, count: int, factor: float) -> list[Bar]:
    recall = Recall(app)
    chance = random.Random(3)
    requests = [
        *REQUESTS,
        *(f"what did we say about {' and '.join(chance.sample(WORDS, 3))} yesterday?" for _ in range(6)),
        *(f"how did we {' '.join(chance.sample(WORDS, 5))}?" for _ in range(12)),
    ]

    async def ask(number: int) -> object:
        said = requests[number % len(requests)]
        return await recall.contribute(ContextRequest(session=session, said=said, budget=2000))

    times = await measure_times(ask, 3 * len(requests))
    return [
        limit(f"{count:,} messages: recall, median", statistics.median(times), "ms", most=25 * factor),
        limit(f"{count:,} messages: recall, 95 of 100", times[len(times) * 95 // 100], "ms", most=80 * factor),
    ]


async def measure_facts(app: App, session: Session) -> list[Bar]:
    records, chance = FactRecords(app), random.Random(5)
    begun = time.process_time()
    for number in range(FACTS):
        await records.add_fact(f"Fact {number}: the {chance.choice(WORDS)} belongs to the {chance.choice(WORDS)}.")
    added = 1000 * (time.process_time() - begun) / FACTS
    source = UserMemory(app)

    async def ask(number: int) -> object:
        said = f"where does the {WORDS[number]} belong?"
        return await source.contribute(ContextRequest(session=session, said=said, budget=2000))

    times = await measure_times(ask, 30)
    return [
        limit(f"{FACTS:,} facts: a turn, median", statistics.median(times), "ms", most=10),
        limit(f"{FACTS:,} facts: one more, mean", added, "ms", most=10),
    ]


async def measure_at(home: Path, count: int, factor: float, *, facts: bool = False) -> list[Bar]:
    app = App(config.load({"home": str(home)}))
    try:
        app.shared(Embedders).word_vectors()
        session = await app.store.create(title=f"now, with {count:,} messages")
        bars = [*await measure_searches(app, count, factor), *await measure_recall(app, session, count, factor)]
        return [*bars, *await measure_facts(app, session)] if facts else bars
    finally:
        await app.close()


async def measure(home: Path, sessions: int, times: int) -> list[Bar]:
    path = home / "state.db"
    filled = await fill(str(path), sessions, MESSAGES, SIZE)
    count = sessions * MESSAGES
    bars = [limit("bytes of the file per byte of text", filled["bytes"] / filled["text"], "B/B", most=2.2)]
    bars += await measure_at(home, count, 1, facts=True)
    if times > 1:
        big = (await multiply(str(path), times))["messages"]
        bars += await measure_at(home, big, 2)
    return bars


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench search")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--times", type=int, default=TIMES, help="how often the history is copied; 1: not at all")
    given = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        bars = asyncio.run(measure(folder, given.sessions, given.times))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    is_whole = given.sessions == SESSIONS
    with tempfile.TemporaryDirectory() as elsewhere:  # figures of fewer sessions are shown only
        save_result("search", bars, folder=RESULTS if is_whole else Path(elsewhere))


if __name__ == "__main__":
    main()
