"""The command line, run in this process, with the plugins templates need."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.plugins import Registry

NEEDED = ("sqlite", "hermes", "templates", "hermes-achievements")


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def registry() -> Registry:
    return Registry([one for one in BUILT_INS if one.name in NEEDED], lambda: ())


@pytest.fixture
def sojourn(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`sojourn("templates", "list")`."""

    def run(*args: str) -> Ran:
        given = CommandContext(
            build=lambda flags: App(config.load(flags), registry()), read_settings=config.load, plugins=registry()
        )
        code = start(args, given)
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run
