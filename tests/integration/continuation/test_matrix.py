"""Real sessions of each program, in each program: what arrives, and that the guide says so."""

import re
from pathlib import Path

import pytest

from sojourn.continuation.targets import TARGETS
from tests.integration.continuation.measured_matrix import SOURCES, measure

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "user-guide" / "continue.md"


@pytest.mark.parametrize("source", SOURCES)
async def test_everything_arrives_in_every_program_as_the_guide_says(source, tmp_path):
    cells = await measure(source, tmp_path / "person")
    assert [name for name, cell in cells.items() if cell.texts["arrived"] < cell.texts["all"]] == []
    assert [name for name, cell in cells.items() if cell.calls["arrived"] < 0.99 * cell.calls["all"]] == []
    told = re.search(rf"^\| {source} \|(.*)\|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    shown = [one.strip() for one in told[1].split("|")] if told else []
    assert shown == [cells[name].describe() for name in TARGETS]
