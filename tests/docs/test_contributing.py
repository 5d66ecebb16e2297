"""CONTRIBUTING.md and docs/architecture.md describe the tree as it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
QUESTIONS = dict(re.findall(r"^\| (the .+|.+)\? \| `(sojourn/.+\.py)` \|$", CONTRIBUTING, re.MULTILINE))


def python_files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.py") if path.name not in ("__init__.py", "__main__.py")]


PACKAGES = [f"{path.parent.name}/" for path in (ROOT / "sojourn").glob("*/__init__.py")]
MODULES = [path.name for path in python_files(ROOT / "sojourn")]
PORTS = [f"ports/{path.name}" for path in python_files(ROOT / "sojourn" / "ports")]


@pytest.mark.parametrize("name", PACKAGES + MODULES)
def test_every_package_has_its_line_in_the_architecture(name):
    assert re.search(rf"^\| `{re.escape(name)}` \| .+ \| .+ \|$", ARCHITECTURE, re.MULTILINE)


@pytest.mark.parametrize("name", PORTS)
def test_every_port_has_its_line_in_the_architecture(name):
    assert re.search(rf"^\| `{re.escape(name)}` \| .+ \|$", ARCHITECTURE, re.MULTILINE)


@pytest.mark.parametrize("name", PACKAGES + MODULES)
def test_every_package_is_in_the_tree_of_contributing(name):
    tree = re.search(r"```\n(sojourn/\n.+?)```", CONTRIBUTING, re.DOTALL)
    assert tree is not None
    assert re.search(rf"(?<![\w.]){re.escape(name)}", tree[1])


def named_files() -> list[str]:
    found = re.findall(r"`([\w/]+\.py)`", ARCHITECTURE)
    return sorted(set(found))


@pytest.mark.parametrize("name", named_files())
def test_every_file_that_the_architecture_names_exists(name):
    assert list((ROOT / "sojourn").rglob(name.removeprefix("sojourn/"))), f"sojourn/**/{name}"


def test_the_newcomers_test_has_its_seven_questions():
    assert len(QUESTIONS) == 7


@pytest.mark.parametrize("path", QUESTIONS.values())
def test_the_newcomers_test_is_answered_by_files_that_exist(path):
    assert (ROOT / path).is_file()


def test_every_ring_has_its_folder_and_recipe():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for folder, recipe in re.findall(r"\| `(tests/\w+)` \| `make (\w+)` \|", CONTRIBUTING):
        assert (ROOT / folder).is_dir()
        assert re.search(rf"^{recipe}:", makefile, re.MULTILINE)
