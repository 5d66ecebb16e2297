"""What a network needs, from the metadata of our own package."""

import sys

import pytest

from sojourn.core.errors import MissingPackage
from sojourn.gateway import network_packages
from sojourn.gateway.network_packages import build_install_command, install_packages, list_requirements

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


def test_uv_is_preferred_and_installs_where_we_run(monkeypatch):
    monkeypatch.setattr(network_packages.shutil, "which", lambda name: f"/bin/{name}")
    assert build_install_command(["nio>=1"]) == ["/bin/uv", "pip", "install", "--python", sys.executable, "nio>=1"]


def test_without_an_installer_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(network_packages.shutil, "which", lambda _: None)
    monkeypatch.setattr(network_packages, "find_spec", lambda _: None)
    with pytest.raises(MissingPackage) as refused:
        build_install_command(["nio>=1"])
    assert '"nio>=1"' in refused.value.hint


async def test_an_installer_that_fails_is_quoted(monkeypatch, tmp_path):
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\necho no such package >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(network_packages.shutil, "which", lambda _: str(program))
    with pytest.raises(MissingPackage, match="no such package"):
        await install_packages(["nio>=1"])
