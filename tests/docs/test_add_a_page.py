"""The page that explains how to add a page: its example compiles against the current sources."""

import json
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
    (tmp_path / "src" / "pages" / "Statistics.tsx").write_text(code_blocks(PAGE, "tsx")[0], "utf-8")
    registry = tmp_path / "src" / "pages" / "registry.ts"
    start = "export const PAGES: Page[] = [\n"
    text = registry.read_text("utf-8")
    assert start in text
    registry.write_text(text.replace(start, start + code_blocks(PAGE, "ts")[0]), "utf-8")
    for language in ("en", "zh"):
        messages = tmp_path / "src" / "messages" / f"{language}.json"
        words = json.loads(messages.read_text("utf-8")) | json.loads(code_blocks(PAGE, "json")[0])
        messages.write_text(json.dumps(words, ensure_ascii=False), "utf-8")
    return tmp_path


def compile_pages(folder: Path) -> subprocess.CompletedProcess[str]:
    tsc = WEB / "node_modules" / ".bin" / "tsc"
    return subprocess.run([tsc, "--noEmit", "-p", "."], cwd=folder, capture_output=True, text=True, timeout=110)


def test_the_example_compiles(web):
    done = compile_pages(web)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_word_that_is_missing_is_found_by_the_compiler(web):
    page = web / "src" / "pages" / "Statistics.tsx"
    page.write_text(page.read_text("utf-8").replace("statistics.sessions", "statistics.nowhere"), "utf-8")
    assert "statistics.nowhere" in compile_pages(web).stdout
