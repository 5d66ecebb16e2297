"""The pages' types are those of the OpenAPI document."""

from scripts.api_types import TARGET, render_types
from sojourn.core.events import STAGES
from sojourn.core.progress import DETAILS


def test_every_stage_has_a_type():
    assert tuple(DETAILS) == STAGES


def test_the_pages_have_the_types_of_the_document():
    assert TARGET.read_text("utf-8") == render_types()
