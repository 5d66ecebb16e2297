"""Who offers what, and what happens when somebody does not keep the promise."""

import json
import subprocess
import sys

import pytest

from sojourn.built_in_plugins import BUILT_INS, BuiltIn
from sojourn.core.errors import BadInput, MissingPackage, NotFound, SojournError
from sojourn.lazy import Lazy
from sojourn.plugins import Registry, ThirdParty, command_name
from tests.integration.cli.conftest import HERE, registry


def test_a_stranger_comes_through_the_same_door():
    offers = registry()
    assert [plugin.name for plugin in offers.all()] == ["sqlite", "hermes", "diary"]
    assert [plugin.name for plugin in offers.with_sources()] == ["hermes", "diary"]
    assert offers.commands()["write-page"] == "Reads diaries."
    assert offers.command("write-page").name == "write-page"
    assert offers.command("nothing-like-it") is None


@pytest.mark.parametrize(
    ("dotted", "kind", "told"),
    [
        (f"{HERE}.not_there", SojournError, "No module named"),
        (f"{HERE}.broken_plugin", SojournError, "ZeroDivisionError"),
        (f"{HERE}.diary:Diary", BadInput, "is not a Plugin"),
        ("no_such_package_at_all", SojournError, "No module named"),
    ],
)
def test_a_broken_plugin_is_named_and_the_rest_works(dotted, kind, told):
    offers = registry(ThirdParty("torn", dotted))
    assert [plugin.name for plugin in offers.all()] == ["sqlite", "hermes", "diary"]
    assert told in str(offers.problems["torn"])
    with pytest.raises(kind):
        offers.plugin("torn")


def test_a_plugin_that_lacks_a_package_says_which(tmp_path, monkeypatch):
    (tmp_path / "needy_plugin.py").write_text("import a_package_nobody_has\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    offers = Registry((BuiltIn(name="needy", plugin=Lazy("needy_plugin:plugin"), extra="needs"),), list)
    with pytest.raises(MissingPackage, match="a_package_nobody_has") as caught:
        offers.plugin("needy")
    assert caught.value.hint == "`sojourn plugins install needs`"


def test_nobody_takes_the_name_of_a_built_in():
    offers = registry(ThirdParty("sqlite", f"{HERE}.diary"))
    assert [plugin.name for plugin in offers.all()] == ["sqlite", "hermes", "diary"]
    assert offers.plugin("sqlite").store is not None
    assert any("belongs to a built-in" in str(error) for error in offers.problems.values())


def test_a_name_nobody_has_is_not_found():
    with pytest.raises(NotFound):
        registry().plugin("nobody")


def test_what_a_command_is_called():
    assert command_name("shop.commands:sell_all") == "sell-all"
    assert command_name("shop.commands:import_") == "import"


@pytest.mark.parametrize("built_in", BUILT_INS, ids=lambda one: one.name)
def test_what_is_said_about_a_built_in_is_true(built_in):
    plugin = Registry().plugin(built_in.name)
    assert plugin.name == built_in.name
    kinds = ("sources", "runtimes", "platforms", "tools", "context")
    assert {kind for kind in kinds if getattr(plugin, kind)} == set(built_in.offers)
    assert {command_name(dotted) for dotted in plugin.commands} == set(built_in.commands)
    for name, about in built_in.commands.items():
        command = Registry().command(name)
        assert command.name == name
        assert command.get_short_help_str(limit=200).startswith(about.rstrip("."))


def test_listing_commands_imports_no_built_in():
    code = (
        "import sys, sojourn.plugins as p; p.Registry().commands();"
        "print([m for m in sys.modules if m.startswith(('sojourn.stores', 'sojourn.http', 'sojourn.achievements'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_plugins_shows_who_offers_what_and_who_fails(sojourn):
    offers = registry(ThirdParty("torn", f"{HERE}.broken_plugin"))
    ran = sojourn("plugins", plugins=offers)
    assert ran.code == 0
    assert "source diary" in ran.out
    assert "does not work" in ran.out
    rows = {row["name"]: row for row in sojourn("plugins", "--json", plugins=offers).json}
    assert rows["sqlite"]["store"] is True
    assert rows["diary"]["sources"] == ["diary"]
    assert "ZeroDivisionError" in rows["torn"]["problem"]


def test_a_strangers_command_runs_and_is_in_the_help(sojourn):
    assert sojourn("write-page").out == "dear diary\n"
    assert "write-page" in sojourn("--help").out


def test_a_command_that_cannot_be_loaded_is_one_line(sojourn):
    ran = sojourn("torn-page")
    assert ran.code == 1
    assert ran.err.startswith("✗ tests.integration.cli.not_there:torn_page cannot be loaded")


def garden(home, **manifest):
    place = home / "plugins" / "garden" / "dashboard"
    place.mkdir(parents=True)
    (place / "index.js").write_text("")
    (place / "manifest.json").write_text(json.dumps({"entry": "index.js", **manifest}))


def state(sojourn):
    return next(row["state"] for row in sojourn("plugins", "--json").json if row["name"] == "garden")


def test_a_page_of_others_is_off_until_a_person_says_yes_to_its_needs(sojourn, home):
    garden(home, description="What grows.", needs=["sessions:read"])
    assert "off until enabled" in sojourn("plugins").out
    asked = sojourn("plugins", "enable", "garden", typed="n\n")
    assert "sessions:read: Its page may list and read your sessions." in asked.out
    assert state(sojourn) == "off"
    assert sojourn("plugins", "enable", "garden").code == 2  # nobody is there to answer
    assert "garden is on" in sojourn("plugins", "enable", "garden", typed="y\n").out
    assert state(sojourn) == "on"
    assert sojourn("plugins", "disable", "garden", "--json").json == {"name": "garden", "state": "off"}
    assert state(sojourn) == "off"
    assert "was off already" in sojourn("plugins", "disable", "garden").out


def test_a_broken_page_is_shown_and_cannot_be_turned_on(sojourn, home):
    garden(home, lable="Garden")
    assert state(sojourn) == "broken"
    assert "`lable` is not a field" in sojourn("plugins").out.replace("\n", " ")
    ran = sojourn("plugins", "enable", "garden", "--yes")
    assert (ran.code, "Did you mean `label`?" in ran.err) == (2, True)


def test_a_page_nobody_has_is_not_found(sojourn):
    assert sojourn("plugins", "enable", "garden", "--yes").code == 3
    assert sojourn("plugins", "disable", "../garden").code == 3
