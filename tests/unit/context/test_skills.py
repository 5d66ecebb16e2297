"""The skill source: the few that fit, as much of each as there is room for."""

import pytest

from sojourn.context import skills as module
from sojourn.context.skills import RankedSkill, SkillIndex, SkillSource, build_blocks
from sojourn.ports.libraries import Skill
from tests.unit.context.worlds import request, told


@pytest.fixture
def folder(home):
    def write(name, description, body="Do it.", below=home / "skills"):
        place = below / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n", "utf-8")

    return write


async def given(kit, said, **more):
    return await SkillSource(kit).contribute(await request(kit, await told(kit), said, **more))


async def test_the_skill_that_fits_comes_with_its_body_its_file_and_the_reason(kit, folder, home):
    folder("bread", "Bake bread with sourdough.", "Feed the starter.")
    folder("taxes", "Prepare the yearly tax return.")
    block = (await given(kit, "how do I bake bread?")).blocks[0]
    assert block.title == "bread"
    assert "Feed the starter." in block.text
    assert block.origin == str(home / "skills" / "bread" / "SKILL.md")
    assert "“bread”" in block.reason


async def test_folders_of_other_programs_are_read_where_they_are_named(make_kit, folder, home):
    folder("bread", "Bake bread with sourdough.", below=home.parent / ".claude" / "skills")
    kit = make_kit(skills_folders="~/.claude/skills")
    assert (await given(kit, "bake bread")).blocks[0].title == "bread"


async def test_a_new_skill_is_seen_without_a_restart(kit, folder, monkeypatch):
    monkeypatch.setattr(module, "_CACHE_SECONDS", 0.0)
    folder("bread", "Bake bread with sourdough.")
    shelf = SkillIndex(kit)
    assert [one.skill.name for one in shelf.rank("bake bread", wait=True)] == ["bread"]
    folder("rolls", "Bake bread rolls for breakfast.")
    assert {one.skill.name for one in shelf.rank("bake bread", wait=True)} == {"bread", "rolls"}


async def test_a_broken_skill_is_listed_with_its_problem_and_never_given(kit, folder, home):
    folder("bread", "Bake bread with sourdough.")
    (home / "skills" / "odd").mkdir()
    (home / "skills" / "odd" / "SKILL.md").write_text("bake bread, but without a head", "utf-8")
    assert ["no head" in one.why for one in SkillIndex(kit).list_all() if not isinstance(one, Skill)] == [True]
    assert [block.title for block in (await given(kit, "bake bread")).blocks] == ["bread"]


async def test_small_talk_brings_up_none(kit, folder):
    folder("bread", "Bake bread with sourdough.")
    assert (await given(kit, "hello, how are you?")).blocks == ()


async def test_zero_turns_the_shortlist_off(make_kit, folder):
    folder("bread", "Bake bread with sourdough.")
    assert (await given(make_kit(skills_shortlist=0), "bake bread")).blocks == ()


async def test_the_others_are_said_to_be_there_when_a_tool_can_show_them(make_kit, folder):
    for name in ("bread", "rolls", "cake"):
        folder(name, f"Bake {name} in the oven.")
    kit = make_kit(skills_shortlist=1)
    last = (await given(kit, "bake bread", tools=("skills_list",))).blocks[-1]
    assert last.text == "There are 2 more skills: skills_list names them, skill_view opens one."
    assert len((await given(kit, "bake bread")).blocks) == 1


def ranked(*bodies):
    return [
        RankedSkill(
            skill=Skill(name=f"s{n}", description="What it is for.", body=body), score=1.0, shared=(), nearness=0.5
        )
        for n, body in enumerate(bodies)
    ]


@pytest.mark.parametrize("budget", [150, 400, 2000])
def test_descriptions_come_first_and_bodies_as_far_as_there_is_room(budget):
    blocks = build_blocks(ranked("word " * 200, "other " * 5000, "tiny"), budget, total=3)
    assert sum(block.tokens for block in blocks) <= budget
    assert all("What it is for." in block.text for block in blocks)


def test_a_body_that_was_cut_says_where_the_rest_is():
    (block,) = build_blocks(ranked("word " * 5000), 600, total=1)
    assert block.text.endswith("(The rest is shown by the tool skill_view.)")
