"""The command table: everything it names is there, says the same, and speaks JSON."""

from collections.abc import Iterator

import click
import pytest
from click.shell_completion import ShellComplete

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.cli.command_table import COMMANDS
from sojourn.cli.context import CommandContext
from sojourn.cli.main import sojourn as root
from sojourn.cli.options import JsonGroup
from sojourn.plugins import Registry
from tests.integration.cli.conftest import fill, registry
from tests.integration.cli.test_sessions import BIKE, GARDEN


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_where_the_table_says_and_called_so(name):
    command, about = COMMANDS[name].command.load(), COMMANDS[name].summary
    assert command.name == name
    assert command.get_short_help_str(limit=200).startswith(about.rstrip("."))


def every(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, JsonGroup):
        here = click.Context(command)
        for name in command.list_commands(here):
            inner = command.get_command(here, name)
            assert inner is not None, f"{path} {name} is not where its section says"
            yield from every(inner, f"{path} {name}")


ALL = [pair for name, entry in COMMANDS.items() for pair in every(entry.command.load(), name)]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[path for path, _ in ALL])
def test_every_command_speaks_json_and_explains_itself(path, command):
    assert any("--json" in param.opts for param in command.params)
    assert command.help
    assert all(param.help for param in command.params if isinstance(param, click.Option))


def test_version_is_the_same_by_both_ways(sojourn, capsys, monkeypatch):
    from sojourn.__main__ import main

    monkeypatch.setattr("sys.argv", ["sojourn", "--version"])
    assert main() == 0
    assert capsys.readouterr().out == sojourn("--no-color", "--version").out


def completed(*words: str) -> list[str]:
    given = CommandContext(
        build=lambda flags: App(config.load(flags), registry()), read_settings=config.load, plugins=registry()
    )
    *args, incomplete = words
    return [item.value for item in ShellComplete(root, {"obj": given}, "sojourn", "").get_completions(args, incomplete)]


def test_a_shell_completes_commands_sessions_sources_and_settings(home):
    fill(home, GARDEN, BIKE)
    assert "sessions" in completed("ses")
    assert completed("sessions", "show", "bike") == ["Bike", "bike-1"]
    assert completed("sessions", "show", "Gard") == ["Garden"]
    assert completed("import", "di") == ["diary"]


def test_a_shell_completes_runtimes():
    offers = Registry(BUILT_INS, list)
    given = CommandContext(
        build=lambda flags: App(config.load(flags), offers), read_settings=config.load, plugins=offers
    )
    found = ShellComplete(root, {"obj": given}, "sojourn", "").get_completions(["chat", "--runtime"], "")
    assert "offline" in [item.value for item in found]
    assert "echo" not in [item.value for item in found], "an example for who writes a runtime"
    assert completed("config", "set", "server.po") == ["server.port"]


def test_a_store_in_trouble_completes_to_nothing(home):
    home.mkdir()
    (home / "state.db").write_text("x" * 5000)
    assert completed("sessions", "show", "a") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell, sojourn):
    assert "_SOJOURN_COMPLETE" in sojourn("completion", shell).out
    assert sojourn("completion", shell, "--json").json["shell"] == shell
