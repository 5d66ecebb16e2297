"""docs/reference/cli.md says what the program says."""

import re

import pytest

from scripts.cli_help import PAGE, blocks, refreshed, shown
from sojourn.core.errors import SojournError
from sojourn.core.sessions import Session, SessionId
from sojourn.text.export import session_to_json

EXITS = PAGE.with_name("exit-codes.md")


def test_every_command_has_its_help_block():
    assert sorted(shown(PAGE.read_text())) == sorted(blocks())


def test_every_help_block_is_up_to_date():
    text = PAGE.read_text()
    assert text == refreshed(text), "run: python scripts/cli_help.py"


def test_every_key_of_a_session_is_listed():
    listed = set(re.findall(r"`(\w+)`", PAGE.read_text()))
    assert set(session_to_json(Session(id=SessionId("s")))) <= listed


def every(kind: type[SojournError]) -> list[type[SojournError]]:
    """The tree of core; what a leaf or surface adds for itself is described there."""
    inner = [one for one in kind.__subclasses__() if one.__module__ == SojournError.__module__]
    return [kind, *(one for below in inner for one in every(below))]


@pytest.mark.parametrize("kind", every(SojournError), ids=lambda kind: kind.__name__)
def test_every_error_has_its_line_in_the_exit_codes(kind):
    assert f"| {kind.exit_code} | `{kind.code}` |" in EXITS.read_text()
