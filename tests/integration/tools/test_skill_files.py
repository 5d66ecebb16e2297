"""SKILL.md: what its head says, and reading folders of them."""

import pytest

from sojourn.core.errors import BadInput
from sojourn.ports.libraries import Skill, SkillProblem
from sojourn.skill_files import MAX_FILE_BYTES, parse_skill, read_skills


def skill(head, body="Do it."):
    return parse_skill(f"---\n{head}\n---\n{body}\n", "/skills/folder/SKILL.md")


def test_head_and_body_are_read():
    assert skill("name: pruning\ndescription: Prunes roses.") == Skill(
        name="pruning", description="Prunes roses.", body="Do it.", path="/skills/folder/SKILL.md"
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"With: a colon"', "With: a colon"),
        ("'It''s quoted'", "It's quoted"),
        (r'"A \"quote\" and é"', 'A "quote" and é'),
        (">\n  folded\n  over lines", "folded over lines"),
        ("|-\n  kept\n  lines", "kept lines"),
        ("goes on\n  in the next line", "goes on in the next line"),
        ("plain # a comment", "plain"),
        ("has: a colon", "has: a colon"),
    ],
)
def test_ways_to_write_a_description(written, meant):
    assert skill(f"name: x\ndescription: {written}\nlicense: MIT").description == meant


def test_other_keys_and_lists_are_passed_over():
    made = skill(
        "name: x\nallowed-tools:\n  - Bash\n  - Read\nmetadata:\n  name: inner\ndescription: Real.\ntags: [a, b]"
    )
    assert (made.name, made.description) == ("x", "Real.")


def test_folder_names_a_skill_that_does_not():
    assert skill("description: Something.").name == "folder"


def test_windows_line_ends_and_a_byte_order_mark_are_fine():
    made = parse_skill("\ufeff---\r\nname: x\r\ndescription: y\r\n---\r\nbody\r\n---\r\nmore\r\n")
    assert (made.name, made.description, made.body) == ("x", "y", "body\n---\nmore")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no head",
        "---\nname: x\n",
        "words first\n---\nname: x\ndescription: y\n---\n",
        "---\nname: x\n---\nbody",
        "---\nname: a/b\ndescription: y\n---\n",
        f"---\nname: {'x' * 65}\ndescription: y\n---\n",
    ],
)
def test_what_cannot_be_used_is_refused(text):
    with pytest.raises(BadInput):
        parse_skill(text)


def test_folders_are_walked_in_order_and_every_problem_is_told(tmp_path):
    good = "---\nname: {0}\ndescription: y\n---\n"
    for name in ("b", "category/a", "category/deep/c", ".hidden/h"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "SKILL.md").write_text(good.format(name.rpartition("/")[2]))
    (tmp_path / "b" / "inner").mkdir()
    (tmp_path / "b" / "inner" / "SKILL.md").write_text(good.format("part-of-b"))
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / "SKILL.md").write_text(good.format("b"))
    (tmp_path / "binary").mkdir()
    (tmp_path / "binary" / "SKILL.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "huge").mkdir()
    (tmp_path / "huge" / "SKILL.md").write_text("x" * (MAX_FILE_BYTES + 1))
    read = read_skills([tmp_path, tmp_path / "not-there"])
    assert [one.name for one in read if isinstance(one, Skill)] == ["b", "a", "c"]
    problems = [one.why for one in read if isinstance(one, SkillProblem)]
    assert problems[0] == "It is not UTF-8 text."
    assert problems[1] == "It has more than 256 kB."
    assert problems[2].startswith('"b" is already the name of')


def test_folder_that_leads_to_itself_ends(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert read_skills([tmp_path]) == []


def test_file_where_a_folder_should_be_is_a_problem(tmp_path):
    (tmp_path / "skills").write_text("x")
    (problem,) = read_skills([tmp_path / "skills"])
    assert "cannot be read" in problem.why
