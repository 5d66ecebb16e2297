"""The shortlist and recall with the real word vectors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.context import word_vectors
from sojourn.context.recall_rank import rank_memories
from sojourn.context.skills import SkillIndex
from sojourn.context.word_vectors import WordVectors
from sojourn.core.messages import user

LIBRARY = Path(__file__).parents[2] / "data" / "skills" / "library"


@pytest.fixture
async def kit(home: Path):
    home.mkdir()
    made = App(config.load({"home": str(home)}, {"HOME": str(home.parent), "SOJOURN_SKILLS_FOLDERS": str(LIBRARY)}))
    yield made
    await made.close()


def test_a_skill_is_found_by_its_meaning(kit: App) -> None:
    assert kit.shared(SkillIndex).rank("my bread came out flat", wait=True)[0].skill.name == "sourdough-baking"


def test_nine_of_ten_held_out_requests_find_their_skill(kit: App) -> None:
    rows = [json.loads(line) for line in (LIBRARY.parent / "requests.jsonl").read_text("utf-8").splitlines()]
    held, shelf = [row for row in rows if row["half"] == "held-out"], kit.shared(SkillIndex)
    first = ([one.skill.name for one in shelf.rank(row["say"], wait=True)[:5]] for row in held)
    assert sum(row["skill"] in names for row, names in zip(held, first, strict=True)) >= 0.9 * len(held)


def test_word_vectors_need_no_more_than_the_two_files_of_their_package() -> None:
    program = """
import sys
from sojourn.context.word_vectors import WordVectors
vectors = WordVectors(None)
one, none = vectors.embed(["a bike", ""])
assert abs(sum(value * value for value in one) - 1) < 1e-4 and not any(none)
bike, rain, empty = vectors.similarities("bicycle", ["a bike", "rain", ""])
assert bike > 0.5 > rain and empty == 0
assert not {"wordllama", "requests", "pydantic"} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_words_that_are_near_in_meaning_count(kit: App) -> None:
    vectors = WordVectors(kit)
    texts = ["She purchased a bicycle.", "The garden is green.", "", "the of and"]
    near, far, empty, only_stop_words = vectors.match_words("buy a bike", texts)
    assert near > 0.4 > far
    assert empty == only_stop_words == 0
    assert vectors.match_words("buy a bike", ["buy a bike"]) == [pytest.approx(1, abs=1e-3)]
    assert vectors.match_words("and the", texts) == [0, 0, 0, 0]
    assert vectors.match_words("buy", []) == []


def test_more_words_than_the_table_holds_do_no_harm(kit: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "_MAX_WORDS", 8)
    vectors = WordVectors(kit)
    many = " ".join(f"word{number}" for number in range(50))
    assert len(vectors.match_words("buy a bike", [many, "purchased"])) == 2
    near, _ = vectors.match_words("buy a bike", ["purchased", "green"])
    assert near > 0.3


async def test_near_words_order_what_is_recalled_and_leave_the_best_score_alone(
    kit: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await kit.store.create(title="Town")
    lease = await kit.store.lease(session.id, holder="test", surface="cli")
    said = ("Maria sold the old piano in May.", "Maria purchased a piano at the fair.")
    await kit.store.append(lease, [user(text) for text in said])
    await kit.store.index()
    hits = await rank_memories(kit, "which piano did Maria buy?", wait=True)
    assert hits[0].text == said[1]
    monkeypatch.setattr("sojourn.context.recall_rank._WORDS_WEIGHT", 0.0)
    plain = await rank_memories(kit, "which piano did Maria buy?", wait=True)
    assert hits[0].score == plain[0].score
