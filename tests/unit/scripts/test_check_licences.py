"""No dependency that we ship is under the GPL."""

from email.message import Message
from importlib.metadata import PackageNotFoundError

import pytest

from scripts.check_licences import LGPL_EXCEPTIONS, is_refused, licence_of, shipped_packages


class Package:
    """A distribution with the metadata that a test gives."""

    def __init__(self, requires=(), **fields):
        self.requires, self.metadata = list(requires), Message()
        for key, values in fields.items():
            for value in [values] if isinstance(values, str) else values:
                self.metadata[key.replace("_", "-")] = value


@pytest.mark.parametrize("licence", ["MIT", "MPL-2.0", "MIT OR GPL-2.0", "MIT OR LGPL-3.0-only", "", "BSD"])
def test_permissive_licences_pass(licence):
    assert not is_refused(licence)


@pytest.mark.parametrize("licence", ["LGPL-3.0-only", "GNU Lesser General Public License v3 (LGPLv3)"])
def test_the_lgpl_passes_only_for_a_package_with_a_reason(licence):
    assert is_refused(licence, "somelib")
    assert not is_refused(licence, "psycopg")
    assert all(LGPL_EXCEPTIONS.values())


def test_an_exception_does_not_cover_the_gpl():
    assert is_refused("GPL-3.0-only", "psycopg")


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-or-later", "AGPL-3.0", "GNU General Public License v2 (GPLv2)", "GPLv3", "GPL-2.0 OR AGPL-3.0"]
)
def test_the_gpl_is_refused(licence):
    assert is_refused(licence)


def test_a_licence_is_read_where_the_package_says_it():
    assert licence_of(Package(License_Expression="MIT", License="GPL")) == "MIT"
    classifiers = ["Programming Language :: Python", "License :: OSI Approved :: MIT License"]
    assert licence_of(Package(Classifier=classifiers)) == "MIT License"
    assert licence_of(Package(License="BSD\n\nlong text")) == "BSD"


def test_dependencies_of_extras_are_followed_and_those_of_dev_are_not():
    installed = {
        "sojourn": Package(
            ["click", 'chat[fast]; extra == "chat"', 'pytest; extra == "dev"'], Provides_Extra=["chat", "dev"]
        ),
        "click": Package(['colorama; sys_platform == "nowhere"']),
        "chat": Package(['quick; extra == "fast"', 'slow; extra == "slow"', "elsewhere"]),
        "quick": Package(["click"]),
    }

    def find(name):
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    assert set(shipped_packages(find)) == {"sojourn", "click", "chat", "quick"}
