"""Values that vary become named parameters."""

from sojourn.templates.model import ToolCallExample
from sojourn.templates.parameters import generalise_runs, parameters_of


def run(path, count, text):
    return [
        ToolCallExample("read_file", {"path": path, "limit": 500}, f"{path}: 1 line"),
        ToolCallExample("terminal", {"command": f"wc -l {path} now", "env": {"N": count, "A": "b"}}, text),
    ]


def test_what_is_the_same_stays_and_what_varies_is_named_once():
    made = generalise_runs([run("a/one.py", 1, "x"), run("b/two.py", 2, "y"), run("c/three.py", 3, "z")])
    assert [dict(one.arguments) for one in made] == [
        {"path": "{{path}}", "limit": 500},
        {"command": "wc -l {{path}} now", "env": {"N": "{{N}}", "A": "b"}},
    ]
    assert made[0].result == "{{path}}: 1 line"
    assert parameters_of(made) == ["path", "N"]


def test_texts_that_share_little_become_one_parameter():
    one, other = (
        [ToolCallExample("web_search", {"query": text}, "")] for text in ("red boats today", "blue old trains")
    )
    assert dict(generalise_runs([one, other])[0].arguments) == {"query": "{{query}}"}


def test_two_values_of_one_name_get_two_names():
    pairs = [
        [ToolCallExample("copy", {"path": a}, ""), ToolCallExample("copy", {"path": b}, "")] for a, b in ("xy", "zw")
    ]
    assert parameters_of(generalise_runs(pairs)) == ["path", "path_2"]


def test_an_argument_only_some_runs_have_is_left_out():
    one, other = [ToolCallExample("t", {"a": 1, "b": 2}, "")], [ToolCallExample("t", {"a": 1}, "")]
    assert dict(generalise_runs([one, other])[0].arguments) == {"a": 1}


def test_equal_runs_have_no_parameters():
    assert parameters_of(generalise_runs([run("a", 1, "x")] * 3)) == []
