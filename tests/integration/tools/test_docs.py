"""What the documentation says about tools is so."""

import re
import sys
from pathlib import Path

import pytest

from sojourn.plugins import Registry, ThirdParty
from sojourn.settings.table import SETTINGS
from sojourn.tools.mcp.server import SERVER_KEYS
from sojourn.tools.registry import build_tools
from tests.integration.tools.tool_workspace import call, tool_of

DOCS = Path(__file__).parents[3] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)


async def test_example_of_how_to_add_a_tool_works(kit, room, tmp_path, monkeypatch):
    (tmp_path / "garden_notes.py").write_text(blocks("how-to/add-a-tool.md", "python")[0], "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    name, dotted = re.search(r'(\S+) = "(garden_notes:plugin)"', blocks("how-to/add-a-tool.md", "toml")[0]).groups()
    kit.registry = Registry((), lambda: [ThirdParty(name, dotted)])
    told = await call(kit, room, "append_note", line="the roses bloom")
    sys.modules.pop("garden_notes")
    assert told.text == "Added a line to notes.md."
    assert (room.root / "notes.md").read_text() == "the roses bloom\n"
    assert room.asked[0].tool == "append_note"


def test_every_tool_has_its_row_with_the_right_effect(kit):
    page = (DOCS / "reference/tools.md").read_text("utf-8")
    for one in build_tools(kit):
        row = next(line for line in page.splitlines() if line.startswith("|") and f"`{one.name}`" in line)
        assert f"| {one.effect} |" in row, one.name


@pytest.mark.parametrize(
    "setting", [one for one in SETTINGS if one.name.startswith("tools.")], ids=lambda one: one.name
)
def test_every_setting_has_its_row_with_the_right_default(setting):
    page = (DOCS / "reference/tools.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{setting.name}` |"))
    assert str(setting.default) in row.split("|")[2]


def test_every_key_of_an_mcp_server_has_its_row():
    page = (DOCS / "how-to/mcp.md").read_text("utf-8")
    assert [key for key in sorted(SERVER_KEYS) if not re.search(rf"^\|[^|]*`{key}`", page, re.MULTILINE)] == []


def test_tools_guests_have_are_the_ones_named(kit, guest):
    section = (DOCS / "reference/tools.md").read_text("utf-8").split("## Guests")[1].split("##")[0]
    for one in build_tools(kit):
        assert (f"`{one.name}`" in section) == tool_of(kit, one.name).for_whom(guest.principal)
