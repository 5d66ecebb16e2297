"""docs/reference/events.md and settings.md name everything there is."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sojourn.core.events import STAGES, Chunk, Done, Failed, Metadata, Progress
from sojourn.settings.table import SETTINGS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
EVENTS = (REFERENCE / "events.md").read_text()


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_has_its_line_with_a_payload(stage):
    assert re.search(rf"^\| `{stage}` \| [^|]+ \| [^|]*`\w+`", EVENTS, re.MULTILINE)


@pytest.mark.parametrize("event", [Metadata, Progress, Chunk, Failed, Done], ids=lambda event: event.name)
def test_every_event_has_its_line_with_all_its_fields(event):
    [line] = re.findall(rf"^\| `{event.name}` \| (.+) \|$", EVENTS.split("## Stages")[0], re.MULTILINE)
    assert {field.name for field in fields(event)} <= set(re.findall(r"`(\w+)`", line))


def test_no_stage_is_described_that_is_not_there():
    described = set(re.findall(r"^\| `(\w+)` \|", EVENTS.split("## Stages")[1], re.MULTILINE))
    assert described == set(STAGES)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_has_its_line(setting):
    assert f"| `{setting.name}` | `{setting.variable}` |" in (REFERENCE / "settings.md").read_text()
