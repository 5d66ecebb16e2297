"""How many of the forms in which secrets are written down are recognised, and how much else is taken for one."""

import json
import sysconfig
from pathlib import Path

import pytest

from sojourn.text.redaction import redact
from tests.secret_forms import fill_form, list_forms, list_lines

DATA = Path(__file__).parents[2] / "data"
FORMS = [json.loads(line) for line in (DATA / "secret_forms.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("which", ["seen", "held-out"])
def test_nearly_all_forms_are_recognised(which):
    forms = [one for one in FORMS if one["set"] == which]
    kept = [one["text"] for one in forms if one["secret"] in redact(one["text"])]
    assert len(kept) <= len(forms) * 0.05, kept


@pytest.mark.parametrize("which", ["seen", "held_out"])
def test_nearly_all_templates_are_recognised(which):
    forms = [form for seed in range(3) for form in list_forms(which, seed)]
    kept = [form.text for form in forms if form.leaks(redact(form.text))]
    assert len(forms) > 400
    assert len(kept) <= len(forms) * 0.03, kept


@pytest.mark.parametrize(
    ("which", "count"), [("secret_forms_fresh_a", 200), ("secret_forms_fresh_b", 200), ("secret_forms_fresh_c", 187)]
)
def test_nearly_all_fresh_forms_are_recognised(which, count):
    forms = [form for seed in range(3) for form in list_lines(which, seed)]
    kept = [form.text for form in forms if form.leaks(redact(form.text), 8)]
    assert len(forms) == 3 * count
    assert len(kept) <= len(forms) * 0.05, kept


def test_what_only_looks_like_a_secret_is_mostly_left_alone():
    forms = list(list_lines("not_secret"))
    changed = [form.text for form in forms if redact(form.text) != form.text]
    assert len(forms) == 200
    assert len(changed) <= 8, changed


NAMES = (
    "password db_password DB_PASS userPwd api_key apiKey client_secret authToken bot.token SECRET_KEY_BASE signingKey"
)
WAYS = [
    "<n>=<v>",
    "<n>: <v>",
    "<n> = '<v>'",
    '"<n>": "<v>"',
    "'<n>' => '<v>'",
    "<n> := `<v>`",
    '<n>: string = "<v>"',
    "--<n> <v>",
    "<<n>><v></<n>>",
    '<x <n>="<v>"/>',
    '<x name="<n>" value="<v>"/>',
    "- name: <n>\n  value: <v>",
    'x["<n>"] = "<v>"',
    'set("<n>", "<v>")',
    "?<n>=<v>&x=1",
    "ENV <n> <v>",
    "-D<n>=<v>",
    "<n>: |\n  <v>",
    "**<n>**: <v>",
    "| <n> | <v> |",
    "<n> -> <v>",
    "my <n> is <v>",
    '#define <n> "<v>"',
    '<n> ?? "<v>"',
    "<n>%3D<v>",
    "<n>, <v>",
    "<n>[]=<v>",
    "<n>: !!str <v>",
    '\\"<n>\\": \\"<v>\\"',
]


@pytest.mark.parametrize("way", WAYS)
def test_every_name_is_known_in_every_syntax(way):
    for name in NAMES.split():
        for kind in ("alnum:32", "human:1", "hex:40", "strong:14", "uuid:1"):
            form = fill_form(name, way.replace("<n>", name).replace("<v>", f"{{{{{kind}}}}}"), seed=1)
            assert not form.leaks(redact(form.text)), form.text


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
        for folder in ("tool_results", "golden")
        for file in sorted((DATA / folder).rglob("*.json*"))
        for line in file.read_text("utf-8", "replace").splitlines()
    ]
    changed = [line for line in lines if redact(line) != line]
    assert lines
    assert len(changed) <= max(1, len(lines) / 1000), changed
