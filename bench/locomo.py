"""Does recall find what was said? Public conversations with questions and the turns that answer them (LoCoMo).

`make bench ARGS="locomo --data FOLDER"`: a file is one conversation. Two of them were used for tuning; the figures are
those of the others. The data is not part of this project; only figures are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from math import log
from pathlib import Path

from bench.report import Bar, at_least, limit, save_result
from sojourn import config
from sojourn.app import App
from sojourn.context.ask import ask_history
from sojourn.context.embeddings import Embedders
from sojourn.context.recall import choose_memories
from sojourn.context.recall_rank import rank_memories
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript
from sojourn.ports.store import SearchQuery
from sojourn.text.tokenizer import stem_words

TUNED_ON = ("26", "42")
CUTS = (5, 10, 25, 50)
BUDGET_TOKENS = 2000
ADVERSARIAL = 5  # the category of questions without an answer
PAPER = {5: 56.7, 10: 66.2, 25: 76.7, 50: 82.7}  # DRAGON, published for all ten conversations
MUST = {5: 63.0, 10: 72.0, 25: 81.0, 50: 87.0}
Place = tuple[str, int]  # session and number
Found = tuple[list[Place], list[str]]  # turns and sessions, best first


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its category, and the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[Place]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as sessions of messages, with its questions."""

    name: str
    sessions: dict[str, list[Message]]
    questions: list[Question]


def read_conversation(path: Path) -> Conversation:
    data = json.loads(path.read_text("utf-8"))
    sessions: dict[str, list[Message]] = {}
    places: dict[str, Place] = {}
    numbers = sorted(int(key.split("_")[1]) for key in data if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        moment = datetime.strptime(f"{data[f'session_{number}_date_time']} +0000", "%I:%M %p on %d %B, %Y %z")
        began, name = moment.timestamp(), f"session_{number:02}"
        sessions[name] = []
        for turn in data[f"session_{number}"]:
            caption = f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            role = "user" if turn["speaker"] == data["speaker_a"] else "assistant"
            said = f"{turn['speaker']}: {turn['text']}{caption}"
            sessions[name].append(Message(role=role, content=said, timestamp=began + 20 * len(sessions[name])))
            places[turn["dia_id"]] = (name, len(sessions[name]))
    questions: list[Question] = []
    for one in data["qa"]:
        named = (id for text in one["evidence"] for id in re.findall(r"D\d+:\d+", text))
        if evidence := frozenset(places[id] for id in named if id in places):
            questions.append(Question(one["question"], one["category"], evidence))
    return Conversation(path.stem, sessions, questions)


@asynccontextmanager
async def open_filled(conversation: Conversation, embedder: str) -> AsyncIterator[App]:
    """An installation whose history is the conversation."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        app = App(config.load({"home": folder, "memory.embedder": embedder}))
        try:
            batch = [
                (
                    "1",
                    Transcript(
                        native_id=name, fields={"source": "cli", "started_at": said[0].timestamp}, messages=said
                    ),
                )
                for name, said in conversation.sessions.items()
            ]
            await app.store.ingest("locomo", "locomo", batch, principal=OWNER)
            await app.store.index()
            yield app
        finally:
            await app.close()


class StemmedBm25:
    """The baseline: BM25 over stemmed turns, without stop words; sessions in the order of their best turn."""

    def __init__(self, conversation: Conversation) -> None:
        self._places = [(name, n) for name, said in conversation.sessions.items() for n in range(1, len(said) + 1)]
        texts = [message.content or "" for said in conversation.sessions.values() for message in said]
        self._counts = [Counter(stem_words(text)) for text in texts]
        self._having = Counter(word for counts in self._counts for word in counts)
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = sum(self._lengths) / len(self._lengths)

    def rank(self, question: str) -> Found:
        scores = [0.0] * len(self._places)
        for word in set(stem_words(question)):
            having = self._having[word]
            rarity = log(1 + (len(scores) - having + 0.5) / (having + 0.5))
            for n, counts in enumerate(self._counts):
                if count := counts[word]:
                    scores[n] += rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self._lengths[n] / self._mean))
        best = sorted((n for n, score in enumerate(scores) if score), key=lambda n: -scores[n])
        return [self._places[n] for n in best], list(dict.fromkeys(self._places[n][0] for n in best))


class Figures:
    """Sums of what is measured per question."""

    def __init__(self) -> None:
        self.sums: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.seconds: list[float] = []

    def add(self, name: str, value: float) -> None:
        self.sums[name] += value
        self.counts[name] += 1

    def add_ranks(self, question: Question, found: Found) -> None:
        turns, sessions = found
        wanted = {session for session, _ in question.evidence}
        for cut in CUTS:
            self.add(f"R@{cut}", len(question.evidence & set(turns[:cut])) / len(question.evidence))
        self.add("right session first", bool(wanted & set(sessions[:1])))
        self.add("right session in five", bool(wanted & set(sessions[:5])))
        self.add("MRR", next((1 / n for n, turn in enumerate(turns, 1) if turn in question.evidence), 0.0))

    def to_percent(self) -> dict[str, float]:
        return {name: 100 * value / self.counts[name] for name, value in self.sums.items()}


Rank = Callable[[App, Question, Figures], Awaitable[Found]]


async def rank_ours(app: App, question: Question, figures: Figures) -> Found:
    """Recall for the turns, search by relevance for the sessions."""
    begun = time.process_time()
    hits = await rank_memories(app, question.text, wait=True)
    told = choose_memories(question.text, hits, BUDGET_TOKENS)
    figures.seconds.append(time.process_time() - begun)
    given = {(memory.hit.session, memory.hit.seq) for memory in told}
    if question.category == ADVERSARIAL:
        figures.add("silent, unanswerable", not told)
    else:
        figures.add("silent, answerable", not told)
        figures.add("evidence within 2,000 tokens", len(question.evidence & given) / len(question.evidence))
    answer = await ask_history(app, question.text, runtime="")
    if question.category == ADVERSARIAL:
        figures.add("ask: not in your history", not answer.found)
    else:
        quoted = {(quote.session, quote.seq) for quote in answer.quotes}
        figures.add("ask: quotes the evidence", bool(quoted & question.evidence))
    found = await app.store.search(SearchQuery(text=question.text, order="relevance", limit=50))
    figures.add(
        "search: right session first", found[:1] != [] and found[0].session in {s for s, _ in question.evidence}
    )
    return [(hit.session, hit.seq) for hit in hits], list(dict.fromkeys(hit.session for hit in hits))


async def measure(conversations: Sequence[Conversation], *, vectors: bool) -> tuple[Figures, Figures]:
    """Ours and the baseline, on the same rows."""
    ours, baseline = Figures(), Figures()
    for conversation in conversations:
        plain = StemmedBm25(conversation)
        async with open_filled(conversation, "packaged" if vectors else "none") as app:
            if vectors:
                assert app.shared(Embedders).word_vectors(), "the extra `local-model` is not installed"
            for question in conversation.questions:
                ours.add_ranks(question, await rank_ours(app, question, ours))
                baseline.add_ranks(question, plain.rank(question.text))
    return ours, baseline


def to_bars(columns: dict[str, dict[str, float]], seconds: Sequence[float]) -> list[Bar]:
    ours, without, plain = columns.values()
    bars: list[Bar] = []
    for cut in CUTS:
        value, wanted = ours[f"R@{cut}"], f"at least {MUST[cut]:g}"
        bars.append(Bar(f"R@{cut}; theirs: the paper", value, PAPER[cut], "%", None, wanted, value >= MUST[cut]))
    for cut in CUTS:
        value, base = without[f"R@{cut}"], plain[f"R@{cut}"]
        name = f"R@{cut} without vectors; theirs: stemmed BM25"
        bars.append(Bar(name, value, base, "%", None, "4 points more", value >= base + 4))
    bars += [
        at_least("right session first", ours["right session first"], "%", least=75),
        at_least("right session in five", ours["right session in five"], "%", least=93),
        limit("silent on answerable questions", ours["silent, answerable"], "%", most=3),
        at_least("evidence within 2,000 tokens", ours["evidence within 2,000 tokens"], "%", least=80),
        at_least(
            "ask: “not in your history” on adversarial questions", ours["ask: not in your history"], "%", least=60
        ),
        at_least("ask: quotes the evidence of the others", ours["ask: quotes the evidence"], "%", least=75),
        limit("CPU per question, median", 1000 * sorted(seconds)[len(seconds) // 2], "ms", most=25),
    ]
    return bars


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench locomo")
    parser.add_argument("--data", type=Path, required=True, help="a folder of conversations, one JSON file each")
    parser.add_argument("--tuning", action="store_true", help="measure the conversations tuned on; nothing is saved")
    given = parser.parse_args(arguments)
    read = [read_conversation(path) for path in sorted(given.data.glob("*.json"))]
    chosen = [one for one in read if (one.name in TUNED_ON) == given.tuning]
    with_vectors, plain = asyncio.run(measure(chosen, vectors=True))
    without, _ = asyncio.run(measure(chosen, vectors=False))
    columns: dict[str, dict[str, float]] = {
        "ours": with_vectors.to_percent(),
        "ours without vectors": without.to_percent(),
        "stemmed BM25": plain.to_percent(),
    }
    for name, figures in columns.items():
        print(name, {key: round(value, 1) for key, value in figures.items()})
    if not given.tuning:
        details = {"conversations": [one.name for one in chosen], "questions": plain.counts["MRR"], **columns}
        bars = to_bars(columns, with_vectors.seconds)
        save_result("locomo", bars, details)


if __name__ == "__main__":
    main()
