"""What a network needs, from the metadata of our own package."""

import sys
from types import SimpleNamespace

import pytest

from sojourn import optional_packages
from sojourn.core.errors import MissingPackage
from sojourn.optional_packages import (
    build_install_command,
    install_packages,
    list_encryption_packages,
    list_requirements,
)

DECLARED = [
    "click>=8.5",
    'nio>=0.26; extra == "matrix"',
    "sojourn[matrix]; extra == 'matrix-e2e'",
    "nio[e2e]>=0.26; extra == 'matrix-e2e'",
    'nio>=1; extra == "matrix2"',
    'jwt>=2; extra == "ms-hook"',
]


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        ("matrix", ["nio>=0.26"]),
        ("matrix-e2e", ["nio>=0.26", "nio[e2e]>=0.26"]),
        ("irc", []),
        ("ms_hook", ["jwt>=2"]),
        ('matrix" or "', []),
    ],
)
def test_an_extra_names_its_requirements(extra, wanted):
    assert list_requirements(extra, DECLARED) == wanted


def test_what_a_python_cannot_have_is_not_asked_of_it():
    newer = f'words>=1; python_version < "3.{sys.version_info[1] + 1}" and extra == "local-model"'
    older = f'nums>=1; python_version < "3.{sys.version_info[1]}" and extra == "local-model"'
    assert list_requirements("local-model", [newer, older]) == ["words>=1"]


@pytest.mark.parametrize(
    ("installed", "missing"),
    [
        ({}, ["nio>=0.26", "nio[e2e]>=0.26"]),
        ({"nio": ['vodozemac>=1; extra == "e2e"', "aiohttp>=3"]}, ["nio[e2e]>=0.26"]),
        ({"nio": ['vodozemac>=1; extra == "e2e"'], "vodozemac": []}, []),
    ],
)
def test_an_extra_of_a_package_counts_when_what_it_needs_is_there(monkeypatch, installed, missing):
    """With `matrix` alone, encrypted rooms are not read, and what they need is offered."""

    def find(name):
        if name not in installed:
            raise optional_packages.PackageNotFoundError(name)
        return SimpleNamespace(requires=installed[name])

    monkeypatch.setattr(optional_packages, "requires", lambda _: DECLARED)
    monkeypatch.setattr(optional_packages, "distribution", find)
    assert list_encryption_packages("matrix") == missing
    assert list_encryption_packages("irc") == []


def test_uv_is_preferred_and_installs_where_we_run(monkeypatch):
    monkeypatch.setattr(optional_packages.shutil, "which", lambda name: f"/bin/{name}")
    assert build_install_command(["nio>=1"]) == ["/bin/uv", "pip", "install", "--python", sys.executable, "nio>=1"]


def test_without_an_installer_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(optional_packages.shutil, "which", lambda _: None)
    monkeypatch.setattr(optional_packages, "find_spec", lambda _: None)
    with pytest.raises(MissingPackage) as refused:
        build_install_command(["nio>=1"])
    assert '"nio>=1"' in refused.value.hint


async def test_an_installer_that_fails_is_quoted(monkeypatch, tmp_path):
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\necho no such package >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(optional_packages.shutil, "which", lambda _: str(program))
    with pytest.raises(MissingPackage, match="no such package"):
        await install_packages(["nio>=1"])
