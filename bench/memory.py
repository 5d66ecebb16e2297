"""How long remembering takes on a store of ten thousand sessions: every memory source, warm, one request at a time."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from bench.report import limit, save_result
from sojourn import config
from sojourn.app import App
from sojourn.context.facts import FactRecords
from sojourn.core.messages import Message, assistant, user
from sojourn.core.sessions import OWNER
from sojourn.ports.context import ContextRequest
from sojourn.ports.importer import Transcript

SESSIONS, MESSAGES, NOTES, FACTS = 10_000, 12, 200, 300
SUBJECTS = (
    "garden",
    "database",
    "invoice",
    "holiday",
    "bicycle",
    "recipe",
    "kubernetes",
    "thesis",
    "password",
    "printer",
    "meeting",
    "translation",
    "backup",
    "spreadsheet",
    "lisbon",
    "contract",
    "camera",
    "deadline",
    "library",
    "battery",
)
REQUESTS = (
    "what did we decide about the invoice for the printer in lisbon?",
    "how did I fix the database backup last time",
    "continue with the thesis deadline",
    "tell me about quantum chromodynamics",
    "the",
    "is there anything about the camera battery and the bicycle contract",
)


def main() -> None:
    asyncio.run(measure())


async def measure() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        home = Path(folder) / "home"
        kit = App(config.load({"home": str(home)}))
        try:
            await fill(kit)
            session = await kit.store.create(title="now")
            bars = []
            for source in (one for one in kit.context() if one.stage == "memory"):
                await source.contribute(ContextRequest(session=session, said="warm up the garden"))
                spent: list[float] = []
                for said in REQUESTS * 5:
                    begun = time.perf_counter()
                    await source.contribute(ContextRequest(session=session, said=said))
                    spent.append(time.perf_counter() - begun)
                name = f"{source.name}, {SESSIONS:,} sessions"
                bars.append(limit(f"{name}, median", statistics.median(spent), "s", most=1.0))
                bars.append(limit(f"{name}, slowest", max(spent), "s", most=1.0))
            save_result("memory", bars)
        finally:
            await kit.close()


async def fill(kit: App) -> None:
    chance = random.Random(4)
    for start in range(0, SESSIONS, 500):
        batch = [("1", transcript(number, chance)) for number in range(start, start + 500)]
        await kit.store.ingest("bench", "bench", batch, principal=OWNER)
    await kit.store.index(lambda done, of: None)
    facts = FactRecords(kit)
    for number in range(FACTS):
        await facts.add_fact(f"Fact {number}: the {chance.choice(SUBJECTS)} belongs to {chance.choice(SUBJECTS)}.")
    notes = kit.settings.home / "notes"
    notes.mkdir()
    for number in range(NOTES):
        text = "\n\n".join(f"## {chance.choice(SUBJECTS)} {part}\n\n{sentence(chance)}" for part in range(10))
        (notes / f"note-{number}.md").write_text(text, "utf-8")


def transcript(number: int, chance: random.Random) -> Transcript:
    fields = {"source": "cli", "started_at": 1.7e9 + 600 * number, "title": f"{chance.choice(SUBJECTS)} {number}"}
    messages: list[Message] = []
    for turn in range(MESSAGES // 2):
        at = 1.7e9 + 600 * number + turn
        messages.append(Message(role="user", content=user(sentence(chance)).content, timestamp=at))
        messages.append(Message(role="assistant", content=assistant(sentence(chance)).content, timestamp=at))
    return Transcript(native_id=f"bench_{number:06}", fields=fields, messages=messages)


def sentence(chance: random.Random) -> str:
    filler = ("then", "we", "looked", "at", "it", "again", "because", "of", "and", "found", "that", "works")
    return " ".join(chance.choice(SUBJECTS if chance.random() < 0.2 else filler) for _ in range(40)) + "."


if __name__ == "__main__":
    main()
