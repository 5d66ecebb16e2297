"""The command line, run in this process: real settings, a real store in a temporary home."""

import asyncio
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER
from sojourn.plugins import Registry, ThirdParty
from sojourn.ports.importer import Transcript

HERE = "tests.integration.cli"
BUILT_IN = tuple(one for one in BUILT_INS if one.name in ("sqlite", "hermes"))


def registry(*strangers: ThirdParty) -> Registry:
    return Registry(BUILT_IN, lambda: [ThirdParty("diary", f"{HERE}.diary"), *strangers])


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Sojourn = Callable[..., Ran]


@pytest.fixture
def sojourn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Sojourn:
    """`sojourn("sessions", "list")`; with `typed`, somebody sits at a terminal and types that."""

    def run(*args: str, typed: str | None = None, plugins: Registry | None = None) -> Ran:
        offers = plugins or registry()
        given = CommandContext(
            build=lambda flags: App(config.load(flags), registry()), read_settings=config.load, plugins=offers
        )
        if typed is None:
            code = start(args, given)
            told = capsys.readouterr()
            return Ran(code, told.out, told.err)
        screen = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", Terminal(typed))
            patch.setattr(sys, "stdout", screen)
            code = start(["--no-color", *args], given)
        return Ran(code, screen.getvalue(), capsys.readouterr().err)

    return run


def fill(home: Path, *sessions: tuple[str, str | None, Sequence[Message]]) -> None:
    """Puts sessions (id, title, messages) into the store of a home."""
    batch = [
        (
            "1",
            Transcript(native_id=id, fields={"source": "cli", "title": title, "started_at": 1.7e9}, messages=messages),
        )
        for id, title, messages in sessions
    ]

    async def work() -> None:
        app = App(config.load({"home": str(home)}), registry())
        await app.store.ingest("test", "here", batch, principal=OWNER)
        await app.store.index()
        await app.close()

    asyncio.run(work())
