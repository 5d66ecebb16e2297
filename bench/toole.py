"""Does the skill shortlist name the right tool? Requests and tools of a public set (ToolE, MetaTool).

`make bench ARGS="toole --data FOLDER"`: every tool is a skill with a name and a description. The data is not part of
this project; only figures are kept.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path

from bench.report import Bar, save_result
from sojourn import config
from sojourn.app import App
from sojourn.context.bm25 import Bm25Index
from sojourn.context.embeddings import Embedders
from sojourn.context.skills import Shortlist, name_to_words
from sojourn.ports.libraries import Skill
from sojourn.text.tokenizer import stem_words

SHORTLIST = 5
WANTED = {"single tool": 0.68, "two tools": 0.66}
TUNING_STEP = 10  # every tenth request was used for tuning and is left out of the figures
Rank = Callable[[str], list[str]]
Asked = list[tuple[str, frozenset[str]]]  # a request and the tools it is about


def read_skills(folder: Path) -> list[Skill]:
    described = json.loads((folder / "plugin_des.json").read_text("utf-8"))
    return [Skill(name=name, description=text, path=name, body="") for name, text in described.items()]


def read_requests(folder: Path) -> dict[str, Asked]:
    with (folder / "single_tool.csv").open(encoding="utf-8", newline="") as file:
        single: Asked = [(row["Query"], frozenset({row["Tool"]})) for row in csv.DictReader(file)]
    pairs = json.loads((folder / "two_tools.json").read_text("utf-8"))
    return {"single tool": single, "two tools": [(one["query"], frozenset(one["tool"])) for one in pairs]}


def compute_ndcg(found: Sequence[str], wanted: frozenset[str]) -> float:
    gain = sum(1 / log2(place + 2) for place, name in enumerate(found[:SHORTLIST]) if name in wanted)
    return gain / sum(1 / log2(place + 2) for place in range(min(len(wanted), SHORTLIST)))


def measure(rank: Rank, asked: Asked) -> float:
    return sum(compute_ndcg(rank(request), wanted) for request, wanted in asked) / len(asked)


def list_ways(shelf: Shortlist, embedders: Embedders) -> dict[str, Rank]:
    plain = Bm25Index([[(f"{name_to_words(one.name)} {one.description}", 1)] for one in shelf.skills])
    vectors = embedders.word_vectors()

    def baseline(request: str) -> list[str]:
        scores = plain.score(dict.fromkeys(stem_words(request), 1.0))
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [shelf.skills[number].name for number in order if scores[number] > 0]

    ways: dict[str, Rank] = {"BM25": baseline, "words": lambda request: [one.skill.name for one in shelf.rank(request)]}
    if vectors:
        ways["words and vectors"] = lambda request: [one.skill.name for one in shelf.rank(request, embedder=vectors)]
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench toole")
    parser.add_argument("--data", type=Path, required=True, help="the folder with single_tool.csv and two_tools.json")
    parser.add_argument("--tuning", action="store_true", help="measure the requests tuned on; nothing is saved")
    given = parser.parse_args()
    asked = {
        name: [one for at, one in enumerate(rows) if (at % TUNING_STEP == 0) == given.tuning]
        for name, rows in read_requests(given.data).items()
    }
    with tempfile.TemporaryDirectory() as folder:
        ways = list_ways(Shortlist(read_skills(given.data)), Embedders(App(config.load({"home": folder}))))
        figures: dict[str, dict[str, float]] = {}
        for way, rank in ways.items():
            begun = time.process_time()
            figures[way] = {name: measure(rank, rows) for name, rows in asked.items()}
            spent = 1000 * (time.process_time() - begun) / sum(map(len, asked.values()))
            figures[way]["milliseconds"] = spent
            print(way, {name: round(value, 3) for name, value in figures[way].items()}, flush=True)
    if not given.tuning:
        best = figures.get("words and vectors", figures["words"])
        bars = [
            Bar(
                f"nDCG@5, {name}; theirs: BM25",
                best[name],
                figures["BM25"][name],
                "",
                None,
                f"at least {wanted:g}",
                best[name] >= wanted,
            )
            for name, wanted in WANTED.items()
        ]
        save_result("toole", bars, {"requests": {name: len(rows) for name, rows in asked.items()}, **figures})


if __name__ == "__main__":
    main()
