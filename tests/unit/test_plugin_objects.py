"""A third-party plugin may give its parts as objects, without dotted names."""

import sys
from types import ModuleType

import click
import pytest

from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.config import load
from sojourn.lazy import dotted_name
from sojourn.plugins import Registry, ThirdParty
from sojourn.ports.plugin import Plugin
from sojourn.ports.tool import Tool, Workspace
from sojourn.tool_schema import tool


class Parrot:
    """Stands for a runtime: only its name and its maker are looked at."""

    name = "parrot"

    def __init__(self, app: App) -> None:
        self.app = app


@tool()
async def whistle(at: Workspace) -> str:
    """Whistles."""
    return "♪"


@tool()
async def sing(at: Workspace) -> str:
    """Sings."""
    return "♫"


def make_songs(app: App) -> list[Tool]:
    return [sing]


@click.command("feed")
def feed() -> None:
    """Feeds the parrot."""


plugin = Plugin(
    name="aviary",
    summary="Birds.",
    tools=[whistle, make_songs],
    runtimes=[Parrot],
    commands=[feed],
    erasers=[make_songs],
)


@pytest.fixture
def app(tmp_path, monkeypatch) -> App:
    module = ModuleType("aviary")
    module.plugin = plugin  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aviary", module)
    ours = [one for one in BUILT_INS if one.name == "sqlite"]
    return App(load({"home": str(tmp_path)}), Registry(ours, lambda: [ThirdParty("aviary", "aviary")]))


def test_a_runtime_is_given_by_its_class(app):
    assert app.runtime_names() == ("parrot",)
    runtime = app.runtime("parrot")
    assert isinstance(runtime, Parrot)
    assert runtime.app is app
    assert app.runtime("parrot") is runtime


def test_tools_are_given_as_tools_or_by_what_makes_them(app):
    assert [one.name for one in app.tools()] == ["whistle", "sing"]


def test_a_command_is_given_by_itself_and_called_by_its_own_name(app):
    assert app.registry.commands() == {"feed": "Birds."}
    assert app.registry.command("feed") is feed


def test_parts_are_listed_by_their_dotted_names():
    assert dotted_name(make_songs).endswith(":make_songs")
    assert dotted_name(Parrot).endswith(":Parrot")
    assert dotted_name(feed).endswith(":feed")
    assert dotted_name("a.b:c") == "a.b:c"
