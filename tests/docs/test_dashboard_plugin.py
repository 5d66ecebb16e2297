"""The page that tells how to add a page to the dashboard shows the example as it is, and names all there is."""

import json
import re
from pathlib import Path

import pytest

from sojourn.dashboard_plugins.manifest import NEEDS, parse_manifest
from tests.e2e.plugin_folders import EXAMPLE

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "dashboard-plugin.md").read_text("utf-8")
FILES = {"json": "manifest.json", "js": "index.js", "python": "plugin_api.py"}


@pytest.mark.parametrize(("language", "name"), FILES.items())
def test_every_file_of_the_example_stands_there_word_for_word(language, name):
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert block == (EXAMPLE / "dashboard" / name).read_text("utf-8")


def test_the_example_is_as_short_as_it_says():
    files = [one for one in EXAMPLE.rglob("*") if one.is_file()]
    assert {one.name for one in files} == set(FILES.values())
    assert sum(len(one.read_text("utf-8").splitlines()) for one in files) <= 30
    parse_manifest(
        json.loads((EXAMPLE / "dashboard" / "manifest.json").read_text()), name="garden", file="manifest.json"
    )


@pytest.mark.parametrize("need", NEEDS)
def test_every_need_has_its_line(need):
    assert f"| `{need}` |" in PAGE


def test_every_way_to_the_host_has_its_line():
    host = (Path(__file__).parents[2] / "sojourn" / "dashboard" / "frame" / "host.js").read_text("utf-8")
    offered = host.split("window.sojourn = Object.freeze({")[1]
    calls = set(re.findall(r"^    (?:  )?(\w+)(?:: \(|, //)", offered, re.MULTILINE))
    assert calls == {"ready", "api", "list", "read", "go", "toast", "on"}
    assert all(re.search(rf"^\| `sojourn\.(\w+\.)?{call}\b", PAGE, re.MULTILINE) for call in calls)
