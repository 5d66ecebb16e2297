"""Folders that have another place on each machine, and values of foreign entries."""

import pytest

from sojourn.sync.session_values import PathMap, parse_values

HERE = PathMap({"~": "/home/me", "data": "/home/me/data/"})
THERE = PathMap({"~": "/Users/me", "data": "/Volumes/data"})
VALUES = {
    "title": "T",
    "tags": ["a"],
    "pinned": False,
    "archived": True,
    "trashed_at": None,
    "model": None,
    "cwd": None,
}


@pytest.mark.parametrize(
    ("here", "shared", "there"),
    [
        ("/home/me/work", "~:work", "/Users/me/work"),
        ("/home/me", "~:", "/Users/me"),
        ("/home/me/data/x", "data:x", "/Volumes/data/x"),
        ("/home/mel/work", "/home/mel/work", "/home/mel/work"),
        ("/srv", "/srv", "/srv"),
        (None, None, None),
    ],
)
def test_a_folder_is_found_on_the_other_machine(here, shared, there):
    assert HERE.to_shared(here) == shared
    assert THERE.to_local(shared) == there


def test_no_path_leads_out_of_a_mapped_folder():
    assert THERE.to_local("~:../../etc") == "/Users/me"


@pytest.mark.parametrize(
    "change", [{"title": 7}, {"tags": "a"}, {"tags": [1]}, {"pinned": 1}, {"trashed_at": "now"}, {"cwd": []}]
)
def test_values_of_another_form_are_not_taken(change):
    assert parse_values({"values": VALUES, "stamp": [1, "m"]}) is not None
    assert parse_values({"values": VALUES | change, "stamp": [1, "m"]}) is None
    assert parse_values({"values": VALUES, "stamp": 1}) is None
