"""The table of networks says what the adapters can do, and leaves none out."""

import re
from pathlib import Path

import pytest

from sojourn.plugins import Registry
from sojourn.ports.plugin import parts_by_name
from sojourn.testing.platform_abilities import has_lasting_buttons

PAGE = Path(__file__).parents[2] / "docs" / "user-guide" / "networks.md"
DEPEND_ON_SETTINGS = {"bluebubbles", "dingtalk", "qqbot"}  # what these can do
ABILITIES = ("create_handoff_thread", "edit", "ask", "typing", "react", "send_file")
UNITS = {"characters": "characters", "bytes": "bytes", "utf16": "UTF-16 units"}


def read_table() -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text("utf-8").splitlines()]
    named = [(re.search(r"`(\w+)`", row[0]), row) for row in rows if len(row) == 9]
    return {name[1]: row for name, row in named if name}


def list_adapters() -> dict[str, object]:
    registry = Registry(third_party=list)
    return {
        name: registry.load(part) for plugin in registry.all() for name, part in parts_by_name(plugin.platforms).items()
    }


def test_every_network_with_a_credential_is_checked_when_it_is_added():
    without = {"local", "api_server", "webhook"}
    unchecked = {name for name, one in list_adapters().items() if not hasattr(one, "identify")}
    assert unchecked == without | DEPEND_ON_SETTINGS  # which have it whatever their settings: see their contracts


def test_every_network_is_in_the_table():
    adapters = list_adapters()
    assert set(read_table()) == set(adapters)
    assert {name for name, one in adapters.items() if not hasattr(one, "info")} == DEPEND_ON_SETTINGS


@pytest.mark.parametrize("name", sorted(set(read_table()) - DEPEND_ON_SETTINGS))
def test_the_table_says_what_an_adapter_can_do(name):
    adapter, row = list_adapters()[name], read_table()[name]
    assert [bool(cell) for cell in row[2:8]] == [hasattr(adapter, one) for one in ABILITIES]
    assert (row[4] == "*stays*") == has_lasting_buttons(adapter)
    assert row[8] == f"{adapter.info.max_chars:,} {UNITS[adapter.info.counting]}"
