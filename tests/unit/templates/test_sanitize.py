"""What a template may keep."""

import json

import pytest

from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.sanitize import Cleaner, trim_middle


def test_secrets_and_personal_paths_are_stripped_from_arguments_and_results():
    example = ToolCallExample(
        "terminal",
        {
            "command": "deploy --dir /home/ada/site",
            "env": {"api_key": "sk-abc123def456ghi789jkl0"},
            "n": [3, "C:\\Users\\ada\\x"],
        },
        "token ghp_" + "a1" * 18 + " in /Users/ada/.netrc and /root/x",
    )
    kept = json.dumps(Cleaner().example(example).to_dict())
    assert not any(word in kept for word in ("ada", "sk-abc", "ghp_", "/root"))
    assert "~/site" in kept
    assert '"n": [3, "~' in kept


@pytest.mark.parametrize(
    "path",
    [
        "/home/ada",
        "/Users/ada",
        "/var/home/ada",
        "/usr/home/ada",
        "/export/home/ada",
        "/mnt/c/Users/ada",
        "/c/Users/ada",
        "/cygdrive/d/Users/ada",
        "/System/Volumes/Data/Users/ada",
        "C:/Users/ada",
        r"C:\Users\ada",
        "/root",
    ],
)
@pytest.mark.parametrize(
    "around", ["{}/x", "cc -I{}/include", "-L{}/lib", "({}, {})", "PATH={}/bin:{}", "a\n{}\tb", "{}"]
)
def test_a_personal_folder_is_stripped_wherever_it_is_and_whatever_is_around_it(path, around):
    text = around.replace("{}", path)
    for kept in (Cleaner().text(text), json.loads(Cleaner().text(json.dumps({"output": text})))["output"]):
        assert kept == around.replace("{}", "~")
    assert list(Cleaner().arguments({text: {text: [text]}})) == [around.replace("{}", "~")]
    assert "ada" not in json.dumps(Cleaner().arguments({text: {text: [text]}})).lower()


def test_a_name_with_a_space_is_stripped_where_a_path_goes_on():
    assert Cleaner().text(r"open c:\Users\Ada Lovelace\x.txt") == r"open ~\x.txt"


def test_what_is_said_of_a_template_is_stripped_too():
    given = SessionTemplate(
        "a", TaskType.CODE, [ToolCallExample("t", {}, "/home/ada")], description="in /home/ada/blog"
    )
    made = Cleaner().template(given)
    assert (made.description, made.examples[0].result) == ("in ~/blog", "~")


def test_ordinary_text_stays_as_it_is():
    example = ToolCallExample(
        "terminal", {"command": "ls /homes /srv/home/x rooty"}, "a/home/b /rooted https://x.org/home/news"
    )
    assert Cleaner().example(example) == example


def test_a_big_result_keeps_its_ends_and_says_what_is_missing():
    kept = trim_middle("a" * 5000 + "END", 1000)
    assert kept.startswith("a" * 700 + "\n… [4,103 characters left out] …\n")
    assert kept.endswith("END")
    assert len(kept) < 1000
    assert trim_middle("short", 1000) == "short"


def test_a_big_argument_is_trimmed_too():
    made = Cleaner(500).arguments({"content": "x" * 9000, "deep": {"list": ["y" * 9000]}})
    assert len(json.dumps(made)) < 1200
    assert "left out" in made["content"]
