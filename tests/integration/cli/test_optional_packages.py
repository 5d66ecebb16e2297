"""Parts that need packages of their own: they are named, offered and installed by one command."""

import re
import sys
from pathlib import Path

import pytest

from sojourn import optional_packages
from sojourn.built_in_plugins import BUILT_INS
from sojourn.cli.commands import config as config_command
from sojourn.core.errors import MissingPackage
from sojourn.plugins import Registry
from sojourn.runtimes.native.model_client import BUILDERS
from sojourn.runtimes.offline import commands as model_command
from sojourn.tools.lazy_parts import MCP_HUB

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("package", "part", "module"),
    [
        ("anthropic", BUILDERS["anthropic"], "sojourn.runtimes.native.provider_anthropic"),
        ("google.genai", BUILDERS["google"], "sojourn.runtimes.native.provider_google"),
        ("mcp", MCP_HUB, "sojourn.tools.mcp."),
    ],
)
def test_what_is_not_installed_is_named_with_the_command_that_brings_it(package, part, module, monkeypatch):
    name = package.partition(".")[0]
    for one in list(sys.modules):
        if one.startswith((module, f"{package}.", "pydantic_ai.models.", "pydantic_ai.providers.")):
            monkeypatch.delitem(sys.modules, one)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage) as missing:
        Registry(BUILT_INS, list).load(part)
    assert str(missing.value) == f"{name} needs the package {name}, which is not installed."
    assert missing.value.hint == f"`sojourn plugins install {name}`"


def test_what_is_there_is_not_installed_again(sojourn, monkeypatch):
    monkeypatch.setattr(optional_packages, "build_install_command", lambda _: pytest.fail("nothing to install"))
    assert "All that scan needs is installed" in sojourn("plugins", "install", "scan").out
    ran = sojourn("plugins", "install", "everything")
    assert ran.code == 2
    assert "scan" in ran.err


@pytest.mark.parametrize(("answer", "installed"), [("n\n", False), ("y\n", True)])
def test_a_provider_offers_what_it_needs(sojourn, monkeypatch, tmp_path, answer, installed):
    """The installer is a command of ours that leaves a trace."""
    target = tmp_path / "target"
    command = [sys.executable, "-c", f"import pathlib; pathlib.Path({str(target)!r}).mkdir()"]
    monkeypatch.setattr("sojourn.cli.commands.plugins.build_install_command", lambda packages: ["pip", *packages])
    monkeypatch.setattr(optional_packages, "build_install_command", lambda _: command)
    monkeypatch.setattr(config_command, "list_missing_packages", lambda name: ["tiny-client>=1"] * (name == "google"))
    ran = sojourn("config", "set", "model.provider", "google", typed=answer)
    assert "tiny-client>=1" in ran.err
    assert "pip 'tiny-client>=1'" in ran.out
    assert target.exists() is installed
    assert "sojourn plugins install google" in sojourn("config", "set", "model.provider", "google").err
    assert sojourn("config", "set", "model.provider", "groq").err == ""


def test_the_small_model_is_the_one_that_the_recipe_fetches():
    locked = (ROOT / "requirements/model.lock").read_text("utf-8")
    assert model_command.PACKAGE in locked
    assert re.findall(r"sha256:(\w+)", locked) == [model_command.PACKAGE_SHA256]
