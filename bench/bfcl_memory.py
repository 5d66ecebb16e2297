"""Does recall bring the answer? The memory questions of the Berkeley Function Calling Leaderboard (BFCL v4).

`make bench ARGS=bfcl-memory`: for each of five people what they said in several sessions, and questions with short
answers. Counted is whether an answer stands in what a runtime would be given, as BFCL compares answers. Nothing is
tuned on it. The data comes from PyPI (`bfcl-eval`, pinned by hash); only figures are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report import Bar, save_result
from sojourn import config
from sojourn.app import App
from sojourn.context.embeddings import Embedders
from sojourn.context.recall import choose_memories
from sojourn.context.recall_rank import rank_memories
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript

ROOT = Path(__file__).resolve().parent.parent
DATA, LOCK = ROOT / ".venv" / "share" / "bfcl", ROOT / "requirements/bfcl.lock"
BUDGET_TOKENS = 2000
FIRST_DAY = 1.75e9  # when the first session is said to be; each is a day after the one before
_IGNORED = re.compile(r"[,./\-_*^()]")  # as `agentic_checker` of bfcl-eval does


def fetch_data() -> Path:
    """Returns the folder of the data; fetched on first use."""
    made_from = DATA / "made-from"
    if not made_from.exists() or made_from.read_bytes() != LOCK.read_bytes():
        uv = subprocess.run([ROOT / "scripts" / "bootstrap", "--uv"], check=True, capture_output=True, text=True)
        options = ["--quiet", "--no-deps", "--require-hashes", "--target", str(DATA), "-r", str(LOCK)]
        subprocess.run([uv.stdout.strip(), "pip", "install", *options], check=True, cwd=ROOT)
        made_from.write_bytes(LOCK.read_bytes())
    return DATA / "bfcl_eval" / "data"


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]


def to_transcript(number: int, row: dict[str, Any]) -> Transcript:
    began = FIRST_DAY + 86_400 * number
    said = [message for turn in row["question"] for message in turn]
    messages = [
        Message(role=one["role"], content=one["content"], timestamp=began + 60 * at) for at, one in enumerate(said)
    ]
    return Transcript(
        native_id=row["id"], fields={"source": "cli", "started_at": began, "title": row["topic"]}, messages=messages
    )


def has_answer(told: str, answers: Sequence[str]) -> bool:
    """Whether one of the answers stands in a text, whatever its case and punctuation."""
    text = _normalise(told)
    return any(re.search(rf"\b{re.escape(_normalise(answer))}\b", text) for answer in answers)


def _normalise(text: str) -> str:
    return _IGNORED.sub("", text).lower().replace("'", '"')


async def measure(data: Path, embedder: str) -> Counter[str]:
    """Counts answers that were told, per person, and requests that brought nothing."""
    questions, counts = read_rows(data / "BFCL_v4_memory.json"), Counter[str]()
    answers = {one["id"]: one["ground_truth"] for one in read_rows(data / "possible_answer" / "BFCL_v4_memory.json")}
    for scenario in sorted({one["scenario"] for one in questions}):
        rows = read_rows(data / "memory_prereq_conversation" / f"memory_{scenario}.json")
        with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
            app = App(config.load({"home": folder, "memory.embedder": embedder}))
            try:
                assert embedder == "none" or app.shared(Embedders).word_vectors(), "the extra `local-model` is missing"
                batch = [("1", to_transcript(number, row)) for number, row in enumerate(rows)]
                await app.store.ingest("bfcl", "bfcl", batch, principal=OWNER)
                await app.store.index()
                for one in (one for one in questions if one["scenario"] == scenario):
                    said = one["question"][0][0]["content"]
                    told = choose_memories(said, await rank_memories(app, said, wait=True), BUDGET_TOKENS)
                    found = has_answer("\n".join(memory.text for memory in told), answers[one["id"]])
                    counts.update({"asked": 1, "told": found, "silent": not told})
                    counts.update({f"{scenario}: asked": 1, f"{scenario}: told": found})
            finally:
                await app.close()
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    argparse.ArgumentParser(prog="bench bfcl-memory").parse_args(arguments)
    data = fetch_data()
    columns = {name: asyncio.run(measure(data, name)) for name in ("packaged", "none")}
    bars: list[Bar] = []
    for embedder, way in (("packaged", ""), ("none", " without vectors")):
        counts = columns[embedder]
        for name, key in (
            (f"answers within {BUDGET_TOKENS:,} tokens", "told"),
            ("questions that bring nothing", "silent"),
        ):
            bars.append(Bar(f"{name}{way}", 100 * counts[key] / counts["asked"], None, "%", None, "reported", True))
    save_result("bfcl_memory", bars, {name: dict(counts) for name, counts in columns.items()})


if __name__ == "__main__":
    main()
