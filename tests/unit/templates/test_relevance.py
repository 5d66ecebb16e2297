"""Which template fits a request."""

import pytest

from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.templates.relevance import rank_templates, select_within_budget


def kept(name, *requests, kind=TaskType.TERMINAL, used=0, sessions=("s",), size=10):
    template = SessionTemplate(name, kind, [ToolCallExample("terminal", {"c": "x" * size}, "ok")], usage_count=used)
    return StoredTemplate(template, About(requests=requests, sessions=sessions))


SHELF = [
    kept("deploy", "deploy the blog to the staging server", "deploy the shop"),
    kept("report", "plot the monthly sales as a bar chart", kind=TaskType.CODE),
    kept("tests", "fix the failing tests of the parser", kind=TaskType.FILE),
    kept("部署", "把博客部署到测试服务器"),
]


@pytest.mark.parametrize(
    ("request_", "best"),
    [
        ("please deploy the docs to staging", "deploy"),
        ("make a bar chart of monthly sales", "report"),
        ("the parser's tests are failing, fix them", "tests"),
        ("请把网站部署到服务器", "部署"),
    ],
)
def test_the_best_match_to_the_request_wins(request_, best):
    assert rank_templates(request_, SHELF)[0].stored.template.name == best


@pytest.mark.parametrize("request_", ["", "what is the capital of France?", "hello", "please do it for me"])
def test_a_request_that_looks_like_nothing_known_gets_nothing(request_):
    assert rank_templates(request_, SHELF) == []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("install docker and restart it", ["b"]),  # clearly work for a terminal, though no word of it is known
        ("install it and restart it", []),  # two signs are not clear
        ("安装依赖，然后运行测试", ["b"]),
        ("run a python script to compute it, install it, deploy it", []),  # as much the one as the other
        ("search the latest news", []),  # clear, but there is no template of that type
    ],
)
def test_a_request_that_clearly_sounds_like_a_type_gets_one_template_of_it(request_, expected):
    shelf = [kept("a", "water plants", used=2), kept("b", "feed cats", used=1), kept("c", "x", kind=TaskType.FILE)]
    found = rank_templates(request_, shelf)
    assert [one.stored.template.name for one in found] == expected
    assert all(one.because == "your request sounds like a terminal task" for one in found)


def test_it_is_said_what_they_share_and_how_well_it_is_proven():
    [best, *_] = rank_templates("deploy the blog", [kept("a", "deploy the blog", sessions=("1", "2", "3"))])
    assert best.because == "it shares deploy, blog with your request, proven in 3 sessions"


def test_among_equals_the_less_used_then_the_better_proven():
    same = [
        kept("a", "deploy it", used=2),
        kept("b", "deploy it", used=1),
        kept("c", "deploy it", used=1, sessions=("1", "2")),
    ]
    assert [one.stored.template.name for one in rank_templates("deploy", same)] == ["c", "b", "a"]


def test_at_most_three_and_only_what_the_budget_has_room_for():
    matches = rank_templates("deploy", [kept(f"t{n}", "deploy it", size=10) for n in range(5)])
    assert len(select_within_budget(matches, 10_000)[0]) == 3
    assert len(select_within_budget(matches, 10_000, most=1)[0]) == 1
    one = matches[0].tokens
    chosen, left_out = select_within_budget(matches, one + 5)
    assert len(chosen) == 1
    assert left_out[0].startswith('template "t1"')


def test_the_best_one_is_chosen_although_it_has_to_be_cut():
    long = kept("long", "deploy it")
    long.template.examples *= 20
    matches = rank_templates("deploy", [long, kept("short", "deploy the shop")])
    assert [one.stored.template.name for one in select_within_budget(matches, matches[0].tokens // 4, most=1)[0]] == [
        "long"
    ]
    chosen, left_out = select_within_budget(matches, 5)
    assert (chosen, len(left_out)) == ([], 2)


def test_a_template_without_examples_is_never_relevant():
    empty = StoredTemplate(SessionTemplate("deploy", TaskType.CODE), About(requests=("deploy",)))
    assert rank_templates("deploy", [empty]) == []
