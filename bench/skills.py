"""Does the right skill come first? 200 skills, 100 requests of which half is held out, 40 written afterwards.

A plain BM25 over the same text stands beside every way of ranking. `tests/data/skills/README.md` says how the
set came about.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Bar, save_result
from sojourn import config
from sojourn.app import App
from sojourn.context.bm25 import Bm25Index
from sojourn.context.embeddings import Embedders
from sojourn.context.skills import Shortlist, name_to_words
from sojourn.ports.libraries import Skill
from sojourn.skill_files import read_skills
from sojourn.text.tokenizer import stem_words

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "skills"
Rank = Callable[[str], list[str]]  # names, best first


def skills() -> list[Skill]:
    return [one for one in read_skills([DATA / "library"]) if isinstance(one, Skill)]


def requests() -> dict[str, list[dict[str, str]]]:
    """The requests by their half."""
    found: dict[str, list[dict[str, str]]] = {"tuning": [], "held-out": [], "afterwards": []}
    for file in ("requests.jsonl", "afterwards.jsonl"):
        for line in (DATA / file).read_text("utf-8").splitlines():
            one = json.loads(line)
            found[one["half"]].append(one)
    return found


def ways(embedders: Embedders) -> dict[str, Rank]:
    """Every way of ranking that can run here."""
    shelf = Shortlist(skills())
    plain = Bm25Index([[(f"{name_to_words(one.name)} {one.description} {one.body}", 1)] for one in shelf.skills])
    words = embedders.word_vectors()

    def baseline(request: str) -> list[str]:
        scores = plain.score(dict.fromkeys(stem_words(request), 1.0))
        order = sorted(range(len(scores)), key=lambda number: -scores[number])
        return [shelf.skills[number].name for number in order if scores[number] > 0]

    def ours(**given: object) -> Rank:
        return lambda request: [one.skill.name for one in shelf.rank(request, **given)]  # type: ignore[arg-type]

    found: dict[str, Rank] = {"plain BM25": baseline, "words": ours()}
    if words:
        found["words + word vectors"] = ours(embedder=words)
    return found


def share(rank: Rank, asked: list[dict[str, str]], most: int = 5) -> float:
    """How often the right one is among the first."""
    return sum(one["skill"] in rank(one["say"])[:most] for one in asked) / len(asked)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        kit = App(config.load({"home": folder}))
        found, bars, details = requests(), list[Bar](), dict[str, dict[str, float]]()
        for name, rank in ways(Embedders(kit)).items():
            rank("warm up")
            begun = time.perf_counter()
            top5 = {half: share(rank, rows) for half, rows in found.items()}
            seconds = (time.perf_counter() - begun) / sum(map(len, found.values()))
            top1 = {f"{half}, first": share(rank, rows, 1) for half, rows in found.items()}
            details[name] = {**top5, **top1, "seconds": seconds}
            for half, value in top5.items():
                wanted = 90.0 if name == "all" and half == "held-out" else 0.0
                bars.append(
                    Bar(
                        f"{name}: right one in the first five, {half}",
                        value * 100,
                        None,
                        "%",
                        None,
                        f"at least {wanted:g} %" if wanted else "–",
                        value * 100 >= wanted,
                    )
                )
        save_result("skills", bars, details)


if __name__ == "__main__":
    main()
