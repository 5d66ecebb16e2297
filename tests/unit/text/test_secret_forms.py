"""How many of the forms in which secrets are written down are recognised, and how much else is taken for one."""

import json
import sysconfig
from pathlib import Path

import pytest

from sojourn.text.redaction import redact

DATA = Path(__file__).parents[2] / "data"
FORMS = [json.loads(line) for line in (DATA / "secret_forms.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("which", ["seen", "held-out"])
def test_nearly_all_forms_are_recognised(which):
    forms = [one for one in FORMS if one["set"] == which]
    kept = [one["text"] for one in forms if one["secret"] in redact(one["text"])]
    assert len(kept) <= len(forms) * 0.05, kept


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_form_inside_json_stays_json(form):
    assert json.loads(redact(json.dumps({"text": form["text"]})))


def test_ordinary_code_is_left_alone():
    lines = [
        line
        for file in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
        for line in file.read_text("utf-8", "replace").splitlines()
    ]
    changed = [line for line in lines if redact(line) != line]
    assert len(lines) > 50_000
    assert len(changed) <= len(lines) / 1000, changed


def test_ordinary_conversations_are_left_alone():
    lines = [
        line
        for file in sorted((DATA / "tool_results").rglob("*.json*"))
        for line in file.read_text("utf-8", "replace").splitlines()
    ]
    changed = [line for line in lines if redact(line) != line]
    assert lines
    assert len(changed) <= max(1, len(lines) / 1000), changed
