"""Errors as a person and as a script see them."""

import json

import click
import pytest

from sojourn import config
from sojourn.cli.command_table import COMMANDS
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.core.errors import BadConfig, SessionBusy
from sojourn.plugins import Registry


def given(command: click.Command) -> CommandContext:
    class Offers(Registry):
        def command(self, name):
            return command if name == "try" else None

    def nothing(flags):
        raise AssertionError("not needed here")

    return CommandContext(build=nothing, read_settings=nothing, plugins=Offers((), list))


def raising(error: BaseException) -> click.Command:
    @click.command()
    def command():
        raise error

    return command


def test_an_error_is_one_line_and_a_hint(capsys):
    error = SessionBusy("garden", holder="chat", surface="phone", since=0.0)
    assert start(["try"], given(raising(error))) == 4
    assert capsys.readouterr().err.splitlines() == [
        '✗ Session "garden" is being answered by chat from phone.   (session_busy)',
        "  Wait until the running turn has ended, then try again.",
    ]


@pytest.mark.parametrize("args", [["--json", "try"], ["try", "--bogus", "--json"]])
def test_with_json_an_error_is_json(args, capsys):
    assert start(args, given(raising(SessionBusy("a", holder="b", surface="c", since=0.0)))) in (2, 4)
    error = json.loads(capsys.readouterr().err)["error"]
    assert set(error) == {"code", "message", "hint"}


def test_a_message_of_several_lines_or_with_escapes_stays_one_line(capsys):
    assert start(["try"], given(raising(click.ClickException("a\nb\x1b[2J")))) == 2
    assert "✗ a b�[2J" in capsys.readouterr().err


def test_ctrl_c_is_130(capsys):
    assert start(["try"], given(raising(KeyboardInterrupt()))) == 130


def test_a_closed_pipe_is_silent(capsys):
    start(["try"], given(raising(BrokenPipeError())))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("args", [["sesions"], ["sessions", "lst"], ["sessions", "list", "--limt", "3"]])
def test_a_typing_mistake_says_what_was_meant(args, sojourn):
    ran = sojourn(*args)
    assert ran.code == 2
    assert "(bad_input)" in ran.err
    assert "Did you mean" in ran.err
    assert "--help" in ran.err


def test_what_nobody_foresaw_is_a_bug_with_its_details_in_the_home(home, capsys):
    boom = given(raising(ZeroDivisionError("oh")))
    boom.read_settings = config.load
    assert start(["try"], boom) == 70
    told = capsys.readouterr().err
    assert told.count("\n") == 2
    assert "ZeroDivisionError: oh" in told
    (log,) = (home / "logs").iterdir()
    assert str(log) in told
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_bug_without_a_home_to_write_to_is_still_told(capsys):
    boom = given(raising(ZeroDivisionError("oh")))

    def unreadable(flags):
        raise BadConfig("config.toml is torn")

    boom.read_settings = unreadable
    assert start(["try"], boom) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_lone_sojourn_shows_its_help(sojourn):
    ran = sojourn()
    assert ran.code == 2
    assert "New here? `sojourn welcome`" in ran.err


def test_each_command_has_its_place_in_the_help(sojourn):
    told = sojourn("--help").out
    assert [name for name in COMMANDS if told.count(f"\n  {name} ") != 1] == []
    assert "write-page" in told.partition("Commands of plugins:")[2]
