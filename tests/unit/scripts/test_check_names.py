"""The naming rules find what breaks them, and the list of exceptions only shrinks."""

import pytest

from scripts.check_names import RULES, Allowed, find_violations, tighten
from scripts.code_measures import Tree

NOTHING_ALLOWED = Allowed({}, {})


@pytest.fixture
def build(tmp_path):
    def write(files: dict[str, str]) -> Tree:
        for name, text in files.items():
            file = tmp_path / "sojourn" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        return Tree(tmp_path / "sojourn")

    return write


BROKEN = {
    "gerund": ({"gateway/growing.py": ""}, "sojourn/gateway/growing.py"),
    "metaphor": ({"service/line.py": ""}, "sojourn/service/line.py"),
    "participle": ({"core/a.py": "class A:\n    def _told(self): ...\n"}, "sojourn/core/a.py:_told"),
    "duplicate-class": ({"core/a.py": "class Line: ...\n", "core/b.py": "class Line: ...\n"}, "Line"),
    "unit": ({"core/a.py": "VALID, AGAIN_SECONDS = 3600.0, 60\n"}, "sojourn/core/a.py:VALID"),
    "long-file": ({"core/a.py": "\n" * 401}, "sojourn/core/a.py"),
    "long-function": ({"core/a.py": "def walk():\n" + "    x = 1\n" * 60}, "sojourn/core/a.py:walk"),
    "long-adapter": (
        {
            **{f"platforms/chat/{one}.py": "x = 1\n" * 351 for one in "ab"},
            "platforms/small/a.py": "x = 1\n",
            "platforms/local.py": "plugin = 1\n",
        },
        "platforms/chat",
    ),
    "adapter-median": ({f"platforms/chat/{one}.py": "x = 1\n" * 200 for one in "ab"}, "platforms"),
}


def test_every_rule_is_tried():
    assert BROKEN.keys() == RULES.keys()


@pytest.mark.parametrize("rule", BROKEN)
def test_what_breaks_a_rule_is_named_with_advice(build, rule):
    files, offender = BROKEN[rule]
    title, where = find_violations(build(files), NOTHING_ALLOWED)
    assert title.startswith(f"{rule}: 1 found, at most 0 allowed; {RULES[rule].advice}")
    assert where.strip() == offender


@pytest.mark.parametrize("rule", BROKEN)
def test_an_exception_excuses_its_offender_alone(build, rule):
    files, offender = BROKEN[rule]
    assert find_violations(build(files), Allowed({rule: frozenset({offender})}, {})) == []
    assert find_violations(build(files), Allowed({}, {rule: 1})) == []
    assert find_violations(build(files), Allowed({rule: frozenset({"another"})}, {})) != []


@pytest.mark.parametrize(
    "text",
    [
        "WAIT_SECONDS = 3.0\n",
        "WAIT = 3.0  # seconds\n",
        "wait = 3.0\n",
        "ENABLED = True\n",
        'NAME = "x"\n',
        "def f():\n    WAIT = 3\n",
    ],
)
def test_constants_with_a_unit_and_what_is_no_constant_pass(build, text):
    assert find_violations(build({"core/a.py": text}), NOTHING_ALLOWED) == []


@pytest.mark.parametrize("value", ["3600", "-1.5", "64 * 1024"])
def test_a_number_is_a_number_however_it_is_written(build, value):
    assert build({"core/a.py": f"LARGEST: int = {value}\n"}).unitless_constants() == ["sojourn/core/a.py:LARGEST"]


def test_properties_private_classes_and_nouns_in_ing_pass(build):
    files = {
        "core/a.py": "class _Line: ...\nclass B:\n    @property\n    def named(self): ...\n",
        "core/pairing.py": "class _Line: ...\n",
        "testing/__init__.py": "",
    }
    assert find_violations(build(files), NOTHING_ALLOWED) == []


def test_core_ports_and_service_have_one_budget(build):
    tree = build({"core/a.py": "\n" * 5, "ports/a.py": "\n" * 5, "service/a.py": "\n" * 5, "cli/a.py": "\n" * 50})
    assert find_violations(tree, NOTHING_ALLOWED, budget=15) == []
    [violation] = find_violations(tree, NOTHING_ALLOWED, budget=14)
    assert "15 lines, at most 14" in violation
    assert find_violations(tree, Allowed({}, {"reading-budget": 15}), budget=14) == []


def test_exceptions_that_nothing_needs_are_violations(build):
    tree = build({"core/lease.py": ""})
    allowed = Allowed.parse("limit gerund 2\nallow unit sojourn/core/lease.py:TTL  # once\n")
    assert len(find_violations(tree, allowed)) == 2


def test_tightening_removes_and_lowers_and_never_adds(build):
    tree = build({"core/growing.py": "", "core/keeping.py": "LARGEST = 3\n"})
    text = "# why\nlimit gerund 5  # goal: 0\nlimit metaphor 3\nallow unit sojourn/core/gone.py:OLD  # once\n"
    assert tighten(text, tree) == "# why\nlimit gerund 2  # goal: 0\n"
    assert tighten("limit gerund 1\n", tree) == "limit gerund 1\n"


@pytest.mark.parametrize("line", ["allow everything sojourn/a.py", "limit gerund many", "gerund 3", "allow gerund"])
def test_a_line_that_says_nothing_is_refused(line):
    with pytest.raises(ValueError, match="line 1"):
        Allowed.parse(line)


def test_import_strings_are_counted_outside_plugins_alone(build):
    text = 'plugin = Plugin(name="x", tools=("sojourn.x:make",))\nload("sojourn.y.z:build")\n"""See sojourn.y:z."""\n'
    assert build({"core/a.py": text}).import_strings() == ["sojourn/core/a.py: sojourn.y.z:build"]


def test_an_adapter_is_counted_by_its_lines_of_code(build):
    value = '"""What\nit is."""\n\n# why\nx = """a\n\nb"""  # how\n'
    text = f'{value}\n\ndef walk():\n    """Walks."""\n    return (\n        x\n    )\n'
    tree = build({"platforms/chat/a.py": text, "platforms/chat/b.py": "x = 1\n", "platforms/shared.py": "x = 1\n"})
    assert tree.adapter_lengths() == [(8, "platforms/chat")]
