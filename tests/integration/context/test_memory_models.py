"""The shortlist with the real word vectors."""

import json
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.context.skills import SkillIndex

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
