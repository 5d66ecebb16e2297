"""Examples of the how-tos: code blocks of a page, written to a folder and imported from there."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.plugins import Registry, ThirdParty

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"


def code_blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (HOW_TO / page).read_text("utf-8"), re.DOTALL)


def entry_point(page: str) -> tuple[str, str]:
    """The name and the dotted name under which a page's example announces itself."""
    found = re.search(r'"sojourn\.plugins"\]\n(\S+) = "(\S+:plugin)"', (HOW_TO / page).read_text("utf-8"))
    assert found is not None
    return found[1], found[2]


@asynccontextmanager
async def example_app(page: str, folder: Path, **settings: object) -> AsyncIterator[App]:
    """The program with the example of a page installed as its only plugin from outside."""
    name, dotted = entry_point(page)
    module = dotted.partition(":")[0]
    (folder / f"{module}.py").write_text(code_blocks(page, "python")[0], "utf-8")
    sys.path.insert(0, str(folder))
    values = {key.replace("__", "."): value for key, value in settings.items()}
    app = App(config.load(values), Registry(BUILT_INS, lambda: [ThirdParty(name, dotted)]))
    try:
        yield app
    finally:
        await app.close()
        sys.path.remove(str(folder))
        sys.modules.pop(module, None)


def run_contract(page: str, folder: Path) -> None:
    """Runs the second Python block of a page, its contract test, with pytest."""
    module = entry_point(page)[1].partition(":")[0]
    code, contract = code_blocks(page, "python")
    (folder / f"{module}.py").write_text(code, "utf-8")
    (folder / "test_example.py").write_text(contract, "utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "test_example.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\d+ passed", done.stdout)
