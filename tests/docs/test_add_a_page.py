"""The page that explains how to add a page: its example compiles against the current sources."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.examples import code_blocks

WEB = Path(__file__).parents[2] / "web"
PAGE = "add-a-page.md"


@pytest.fixture
def web(tmp_path):
    """A copy of the pages' sources with the example in it."""
    if not (WEB / "node_modules").exists():
        pytest.fail("The packages of the pages are not installed. Run `make web`.")
    shutil.copytree(WEB / "src", tmp_path / "src")
    shutil.copy(WEB / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(WEB / "node_modules")
    folder = tmp_path / "src" / "statistics"
    folder.mkdir()
    page, component = code_blocks(PAGE, "tsx")
    (folder / "page.ts").write_text(page, "utf-8")
    (folder / "StatisticsPage.tsx").write_text(component, "utf-8")
    (folder / "messages.ts").write_text(code_blocks(PAGE, "ts")[0], "utf-8")
    for language, words in zip(("en", "zh"), code_blocks(PAGE, "json"), strict=True):
        (folder / f"{language}.json").write_text(words, "utf-8")
    return tmp_path


def compile_pages(folder: Path) -> subprocess.CompletedProcess[str]:
    tsc = WEB / "node_modules" / ".bin" / "tsc"
    return subprocess.run([tsc, "--noEmit", "-p", "."], cwd=folder, capture_output=True, text=True, timeout=110)


def test_the_example_compiles(web):
    done = compile_pages(web)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_word_that_is_missing_is_found_by_the_compiler(web):
    page = web / "src" / "statistics" / "StatisticsPage.tsx"
    page.write_text(page.read_text("utf-8").replace("statistics.sessions", "statistics.nowhere"), "utf-8")
    assert "statistics.nowhere" in compile_pages(web).stdout
