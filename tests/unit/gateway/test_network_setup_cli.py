"""What a terminal shows of a network that was added: a network's words cannot move its cursor."""

import pytest

from sojourn.gateway.network_setup import Network
from sojourn.gateway.network_setup_cli import _show_added
from sojourn.ports.platform import BotProfile


@pytest.mark.parametrize(
    ("profile", "shown"),
    [
        (None, "✓ garden is set up.\n"),
        (BotProfile(name="Rose"), "✓ garden is set up: Rose.\n"),
        (BotProfile(name="Rose", address="@rose"), "✓ garden is set up: Rose (@rose).\n"),
        (BotProfile(name="\x1b[2JRose\n✓ all is well"), "✓ garden is set up: �[2JRose ✓ all is well.\n"),
    ],
)
def test_a_profile_is_shown_on_one_line(capsys, profile, shown):
    _show_added(Network(name="garden", plugin="garden", summary="", is_configured=False, fields=()), profile)
    assert capsys.readouterr().out == shown
