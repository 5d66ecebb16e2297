"""A plugin's manifest: what it may say, and how a mistake in it is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.dashboard_plugins.manifest import NEEDS, is_inside, parse_manifest

FILE = "plugins/garden/dashboard/manifest.json"


def read(**fields):
    return parse_manifest(fields, name="garden", file=FILE)


def test_almost_nothing_has_to_be_said():
    made = read()
    assert (made.label, made.path, made.position, made.entry) == ("garden", "/garden", "end", "dist/index.js")
    assert (made.icon, made.version, made.css, made.api, made.needs) == ("Puzzle", "0.0.0", "", "", ())


def test_everything_that_is_said_is_kept():
    made = read(
        name="garden",
        label="My garden",
        description="What grows.",
        icon="Sprout",
        version="1.2",
        tab={"path": "/plants", "position": "before:memory"},
        entry="page.mjs",
        css="look.css",
        api="back/api.py",
        needs=["network", "sessions:read"],
    )
    assert (made.label, made.description, made.icon, made.version) == ("My garden", "What grows.", "Sprout", "1.2")
    assert (made.path, made.position) == ("/plants", "before:memory")
    assert (made.entry, made.css, made.api) == ("page.mjs", "look.css", "back/api.py")
    assert made.needs == ("backend", "sessions:read", "network")  # a program of its own is a need, too


def test_fields_of_other_dashboards_are_passed_over():
    assert read(slots=["sessions:top"], integrity="sha384-x", tab={"path": "/garden", "hidden": False}) == read()


WRONG = [
    ({"lable": "x"}, "`lable` is not a field", "`label`"),
    ({"tab": {"postion": "end"}}, "`tab.postion` is not a field", "`tab.position`"),
    ({"name": "meadow"}, "`name` is 'meadow', but its folder is called 'garden'", "same name"),
    ({"label": 3}, "`label` must be a text, not a number", "quotes"),
    ({"label": None}, "`label` must be a text, not null", "quotes"),
    ({"label": "x" * 41}, "`label` has 41 characters", "At most 40"),
    ({"label": "a\u202eb"}, "`label` has invisible characters", "plain"),
    ({"tab": "/garden"}, "`tab` must be an object, not a text", "{"),
    ({"tab": {"path": "garden"}}, "`tab.path` is 'garden'", "slash"),
    ({"tab": {"path": "/a/b"}}, "`tab.path` is '/a/b'", "/garden"),
    ({"tab": {"path": "/../x"}}, "`tab.path` is '/../x'", "/garden"),
    ({"tab": {"position": "first"}}, "`tab.position` is 'first'", "after:sessions"),
    ({"icon": "<svg>"}, "`icon` is '<svg>'", "Lucide"),
    ({"entry": ""}, "`entry` is empty", "script"),
    ({"entry": "page.html"}, "`entry` is 'page.html'", ".js or .mjs"),
    ({"entry": "https://example.com/x.js"}, "leads out of its folder", "beside manifest.json"),
    ({"api": "../api.py"}, "`api` is '../api.py', which leads out of its folder", "beside manifest.json"),
    ({"api": "/etc/api.py"}, "which leads out of its folder", "beside manifest.json"),
    ({"css": "a\\b.css"}, "which leads out of its folder", "beside manifest.json"),
    ({"needs": "network"}, "`needs` must be a list, not a text", "sessions:read"),
    ({"needs": ["network", "root"]}, "`needs[1]` is 'root'", "sessions:read"),
    ({"needs": [["network"]]}, "`needs[0]` is ['network']", "sessions:read"),
]


@pytest.mark.parametrize(("fields", "told", "hint"), WRONG, ids=lambda one: str(one)[:40])
def test_a_mistake_names_the_file_and_the_field_and_the_way_out(fields, told, hint):
    with pytest.raises(BadInput) as caught:
        read(**fields)
    assert str(caught.value).startswith(f"{FILE}: ")
    assert told in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("raw", [[], "x", 3, None, True])
def test_what_is_no_object_is_no_manifest(raw):
    with pytest.raises(BadInput, match="the whole must be an object"):
        parse_manifest(raw, name="garden", file=FILE)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=10,
)
FIELDS = ("name", "label", "description", "icon", "version", "tab", "entry", "css", "api", "needs")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6))
def test_whatever_is_written_there_is_taken_or_told(raw):
    try:
        made = parse_manifest(raw, name="garden", file=FILE)
    except BadInput as error:
        told, made = error, None
    if made is None:
        assert str(told).startswith(FILE)
        assert told.hint
    else:
        assert set(made.needs) <= set(NEEDS)
        assert all(is_inside(path) for path in (made.entry, made.css, made.api) if path)


@pytest.mark.parametrize("path", ["", "/a", "a//b", "../a", "a/../b", "./a", ".a", "a/.b", "a\\b", "c:a", "a\0b", "a/"])
def test_a_path_with_a_way_out_is_not_inside(path):
    assert not is_inside(path)
    assert is_inside("a/b-1/c.js")
