"""An upgrade of a running installation: the program is replaced under a server that runs a turn, and its store with it.

The version before is this program without the newest migration of its store, in a folder of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sojourn
from sojourn.stores.sqlite.migrate import load_migrations
from sojourn.testing.model_script import Hang, ModelRequest, Say, Step, Wait
from sojourn.testing.model_server import ModelServer
from tests.e2e.browser_client import BrowserClient
from tests.e2e.http_server import PROGRAM, Serving, frames

NEWEST = load_migrations()[-1][0] + 1  # of the version that is installed later
PACKAGE = Path(sojourn.__file__).parent
MIGRATIONS = Path("stores", "sqlite", "migrations")


class Installation:
    """An installed program that an upgrade replaces where it stands: by one with one more migration."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "sojourn"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("static"))
        self.env = {"PYTHONPATH": str(folder)}

    def upgrade(self) -> None:
        (self.package / MIGRATIONS / f"{NEWEST:04}_later.sql").write_text("CREATE TABLE later (x INTEGER);\n")

    def run(self, home: Path, *args: str) -> str:
        done = subprocess.run(
            [PROGRAM, "--home", home, *args], capture_output=True, text=True, timeout=60, env=os.environ | self.env
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    def answer(request: ModelRequest) -> list[Step]:
        said = request.last_user_text()
        if said == "begin and stop":
            return [Say("Half of it. "), Hang()]
        return [Say("You said "), Wait(5 if said == "slowly" else 0), Say(f"{said.split()[0]}.")]

    with ModelServer(answer, aside=[Say("A title")]) as running:
        for name, value in (("PROVIDER", "openai"), ("BASE_URL", running.url), ("API_KEY", "k")):
            monkeypatch.setenv(f"SOJOURN_MODEL_{name}", value)
        monkeypatch.setenv("SOJOURN_MODEL", "scripted-1")
        yield running


def pick_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return str(free.getsockname()[1])


def read_schema(path: Path) -> int:
    with closing(sqlite3.connect(path)) as opened:
        return int(opened.execute("PRAGMA user_version").fetchone()[0])


def say(server: Serving, text: str, session: str = "") -> str:
    session = session or server.client.post("/api/sessions", json={}).json()["id"]
    answer = server.client.post(f"/api/sessions/{session}/turns", json={"message": text})
    assert answer.is_success, answer.text
    return session


def read_contents(server: Serving, session: str) -> list[str]:
    return [one["content"] for one in server.get(f"/api/sessions/{session}/messages").json()["messages"]]


def await_stream(server: Serving, session: str, words: str) -> None:
    """Returns when a turn has shown these words."""
    shown = ""
    with server.client.stream("GET", f"/api/sessions/{session}/events?after=0") as answer:
        for frame in frames(answer.iter_lines()):
            if frame.get("event") == "chunk":
                shown += json.loads(frame["data"])["text"]
            if words in shown:
                return
    raise AssertionError(shown)


def is_upgraded(home: Path) -> bool:
    """Whether the store is of the newest version, with a copy of the version before aside."""
    return read_schema(home / "state.db") == NEWEST and [read_schema(one) for one in (home / "backups").iterdir()] == [
        NEWEST - 1
    ]


def test_the_program_is_replaced_and_its_server_restarted_during_a_turn(home, installation, model):
    with Serving(home, "--port", pick_port(), **installation.env) as server:
        assert read_schema(home / "state.db") == NEWEST - 1
        browser = BrowserClient(server)
        session = say(server, "slowly")
        await_stream(server, session, "You said")
        installation.upgrade()
        installation.run(home, "server", "restart")  # waits for the turn
        assert is_upgraded(home)
        assert read_contents(server, session) == ["slowly", "You said slowly."]  # by the same token
        assert browser.ask("GET", "/api/sessions").status_code == 200
        assert json.loads((home / "server.json").read_text())["token"] == server.token
        say(server, "again", session)
        await_stream(server, session, "You said again.")


def test_a_server_of_before_stops_writing_when_another_program_upgrades_its_store(home, installation, model):
    with Serving(home, "--port", pick_port(), **installation.env) as server:
        browser = BrowserClient(server)
        whole, cut = say(server, "hello"), say(server, "begin and stop")
        await_stream(server, whole, "You said hello.")
        await_stream(server, cut, "Half")
        installation.upgrade()
        assert whole in installation.run(home, "sessions", "list")
        assert is_upgraded(home)
        refused = server.client.post(f"/api/sessions/{whole}/turns", json={"message": "not acknowledged"})
        assert (refused.status_code, refused.json()["code"]) == (503, "store_newer")
        assert read_contents(server, whole)[0] == "hello"
        installation.run(home, "server", "restart")  # does not wait for a turn whose end cannot be stored
        assert read_contents(server, whole) == ["hello", "You said hello."]
        await_stream(server, cut, "Half of it.")
        assert read_contents(server, cut)[0] == "begin and stop"
        assert browser.ask("GET", "/api/sessions").status_code == 200
        say(server, "goes on", cut)
        await_stream(server, cut, "You said goes.")
        assert installation.run(home, "store", "verify")
