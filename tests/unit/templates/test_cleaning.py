"""What a template may keep."""

import json

from sojourn.templates import ToolCallExample
from sojourn.templates.cleaning import Cleaner, trimmed


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


def test_ordinary_text_stays_as_it_is():
    example = ToolCallExample("terminal", {"command": "ls /homes /srv/home/x rooty"}, "a/home/b /rooted")
    assert Cleaner().example(example) == example


def test_a_big_result_keeps_its_ends_and_says_what_is_missing():
    kept = trimmed("a" * 5000 + "END", 1000)
    assert kept.startswith("a" * 700 + "\n… [4,103 characters left out] …\n")
    assert kept.endswith("END")
    assert len(kept) < 1000
    assert trimmed("short", 1000) == "short"


def test_a_big_argument_is_trimmed_too():
    made = Cleaner(500).arguments({"content": "x" * 9000, "deep": {"list": ["y" * 9000]}})
    assert len(json.dumps(made)) < 1200
    assert "left out" in made["content"]
