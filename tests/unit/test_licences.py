"""The check of dependency licences."""

from email.message import Message

import pytest

from scripts.licences import licences_of, problem_with


def package(**fields):
    made = Message()
    for name, value in fields.items():
        made[name.replace("_", "-")] = value
    return made


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"License_Expression": "MIT"}, False),
        ({"License_Expression": "MPL-2.0"}, False),
        ({"License_Expression": "GPL-3.0-only"}, True),
        ({"License_Expression": "MIT OR GPL-2.0-or-later"}, False),
        ({"License": "AGPLv3"}, True),
        ({"License": "LGPL-3.0"}, True),
        ({"Classifier": "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"}, True),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, False),
        ({}, True),
    ],
)
def test_licence(fields, refused):
    assert bool(problem_with("some-package", licences_of(package(**fields)))) is refused


def test_lgpl_with_a_reason_is_let_through():
    assert problem_with("psycopg", ["LGPL-3.0-only"]) == ""
