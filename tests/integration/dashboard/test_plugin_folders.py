"""Plugins on the disk: found, broken, agreed to; and places that cannot be read are never shown as empty."""

import json

import pytest

from sojourn.core.errors import BadConfig, NotFound
from sojourn.dashboard_plugins.folders import PAGE_PATHS, TAKEN_TABS, find_folder, find_folders, resolve_inside
from sojourn.dashboard_plugins.state import Consents
from tests.e2e.plugin_folders import write


def problems(home, taken=()):
    return {one.name: one.problem for one in find_folders(home, taken)}


def test_a_home_without_plugins_has_none(home):
    assert find_folders(home) == []
    (home / "plugins" / "hermes-achievements").mkdir(parents=True)  # what a built-in one keeps is no plugin
    (home / "plugins" / "a-file").write_text("")
    assert find_folders(home) == []


def test_each_is_found_and_one_that_is_broken_hides_nobody(home):
    write(home, "fine")
    write(home, "mine", name="yours")
    (write(home, "torn") / "manifest.json").write_bytes(b"\xff\xfe{")
    (write(home, "deep") / "manifest.json").write_text("[" * 100_000)
    (write(home, "huge") / "manifest.json").write_text(json.dumps({"description": "x" * 70_000}))
    (write(home, "bare") / "index.js").unlink()
    write(home, "Odd Name")
    write(home, "second", tab={"path": "/fine"})
    write(home, "echo")
    found = problems(home, {"echo"})
    assert found.pop("fine") == ""
    told = {
        "mine": "`name` is 'yours'",
        "torn": "is not JSON",
        "deep": "larger than 65536",
        "huge": "larger than 65536",
        "bare": "`entry` is 'index.js', which is not there",
        "Odd Name": "cannot hold a plugin",
        "second": "`tab.path` '/fine' is another plugin's",
        "echo": "belongs to a built-in plugin",
    }
    assert set(found) == set(told)
    for name, words in told.items():
        assert words in found[name]
        assert f"{name}/dashboard/manifest.json" in found[name]


def test_nested_too_deeply_is_told_not_raised(home):
    (write(home, "deep") / "manifest.json").write_text("[" * 20_000 + "]" * 20_000)
    assert "is not JSON" in problems(home)["deep"]


def test_a_folder_that_cannot_be_read_is_a_problem_not_an_empty_one(home):
    home.mkdir()
    (home / "plugins").write_text("not a folder")
    assert "cannot be read" in problems(home)["plugins"]


def test_no_tab_takes_the_place_of_a_page_of_ours(home):
    assert {"/" + place.split("/")[1] for place in PAGE_PATHS} - {"/"} <= TAKEN_TABS
    write(home, "greedy", tab={"path": "/chat"})
    assert "is a page of Sojourn" in problems(home)["greedy"]


def test_nothing_but_its_own_files_is_found(home):
    place = write(home, "linked")
    (place / "loop.js").symlink_to("loop.js")
    (place / "out.js").symlink_to("../../../config.toml")
    (home / "config.toml").write_text("")
    assert resolve_inside(place, "index.js") == (place / "index.js").resolve()
    for path in ("out.js", "loop.js", "../manifest.json", "nowhere.js", "", "."):
        with pytest.raises(NotFound):
            resolve_inside(place, path)


def test_a_person_may_link_a_plugin_from_elsewhere(home, tmp_path):
    write(tmp_path, "garden")
    (home / "plugins").mkdir(parents=True)
    (home / "plugins" / "garden").symlink_to(tmp_path / "plugins" / "garden")
    assert problems(home) == {"garden": ""}
    assert resolve_inside(home / "plugins" / "garden" / "dashboard", "index.js")


def test_what_was_agreed_to_is_remembered_and_more_is_asked_for(home):
    consents = Consents(home)
    place = write(home, "keen", needs=["network"])
    assert consents.state(find_folder(home, "keen")) == "off"
    consents.give("keen", ["network"])
    assert consents.state(find_folder(home, "keen")) == "on"
    (place / "manifest.json").write_text(json.dumps({"entry": "index.js"}))
    assert consents.state(find_folder(home, "keen")) == "on"  # less is fine
    (place / "manifest.json").write_text(json.dumps({"entry": "index.js", "needs": ["network", "files"]}))
    assert consents.state(find_folder(home, "keen")) == "asks"
    assert consents.take_back("keen")
    assert not consents.take_back("keen")
    assert consents.state(find_folder(home, "keen")) == "off"


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"needs": 3}'])
def test_a_torn_consent_is_no_consent_and_not_silence(home, torn):
    write(home, "keen")
    Consents(home).give("keen", [])
    (home / "plugins-enabled" / "keen.json").write_text(torn)
    with pytest.raises(BadConfig, match=r"keen\.json"):
        Consents(home).state(find_folder(home, "keen"))


def test_no_name_leads_out_of_the_folder_of_consents(home):
    for name in ("../x", "a/b", "", ".", "A"):
        with pytest.raises(BadConfig):
            Consents(home).give(name, [])
