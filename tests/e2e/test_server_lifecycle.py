"""The server of a home through its life: started by a chat, taken over by `serve`, shown, stopped, started again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from sojourn.testing.model_script import Say, Wait
from sojourn.testing.model_server import ModelServer
from tests.e2e.chat_terminal import Chatter

SOJOURN = str(Path(sys.executable).with_name("sojourn"))


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    """The configured port, which nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = int(free.getsockname()[1])
    monkeypatch.setenv("SOJOURN_PORT", str(number))
    return number


@pytest.fixture(autouse=True)
def no_server_stays(home: Path) -> Iterator[None]:
    yield
    sojourn("server", "stop", "--now")


def sojourn(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOJOURN, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        env={**os.environ, **env},
    )


def announced(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / "server.json").read_text())
    return found


def use_model(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("PROVIDER", "openai"), ("BASE_URL", model.url), ("API_KEY", "k")):
        monkeypatch.setenv(f"SOJOURN_MODEL_{name}", value)
    monkeypatch.setenv("SOJOURN_MODEL", "scripted-1")


def test_a_model_set_up_as_the_program_says_gives_the_next_answer(home, port, monkeypatch):
    """A fresh home, nothing but what the program itself says, no restart."""
    person = Chatter()
    person.sees("/help lists")
    person.says("hello")
    person.sees("offline helper")
    person.says("how do I use a better model?")
    person.sees("config set")
    person.sees("nothing has to be")
    with ModelServer([Say("I am the connected model.")], aside=[Say("A title")]) as model:
        assert sojourn("config", "set", "model.base_url", model.url).returncode == 0
        assert sojourn("config", "set", "model.name", "scripted-1").returncode == 0
        person.says("hello again")
        person.sees("I am the connected model.")
        assert person.quits() == 0
        assert "I am the connected model." in sojourn("chat", "-q", "and here?").stdout


def test_a_chat_starts_the_server_at_the_documented_address_and_serve_takes_its_place(home, port, monkeypatch):
    script = [Say("One two three\n"), Wait(4), Say("and the end.")]
    with ModelServer(script, aside=[Say("A title")]) as model:
        use_model(model, monkeypatch)
        asking = subprocess.Popen(
            [SOJOURN, "chat", "-q", "count"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert asking.stdout
        begun = asking.stdout.readline()  # the turn runs in the server that the chat has started
        first = announced(home)
        assert (begun, first["address"], first["until_idle"]) == ("One two three\n", f"http://127.0.0.1:{port}", True)
        bearer = {"Authorization": f"Bearer {first['token']}"}
        assert httpx.get(f"http://127.0.0.1:{port}/v1/models", headers=bearer, trust_env=False).status_code == 200

        with serve() as serving:
            assert serving.stdout
            assert serving.stdout.readline().split() == ["ready", f"http://127.0.0.1:{port}"]
            assert announced(home)["pid"] == serving.pid != first["pid"]
            rest, _ = asking.communicate(timeout=60)  # it follows the same turn through the new server
            assert (asking.returncode, rest.strip()) == (0, "and the end.")
            await_end(int(str(first["pid"])))
            serving.send_signal(signal.SIGTERM)
            assert serving.wait(30) == 0


@contextmanager
def serve() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([SOJOURN, "serve"], stdout=subprocess.PIPE, text=True) as serving:
        try:
            yield serving
        finally:
            serving.kill()


def await_end(pid: int) -> None:
    for _ in range(400):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")


def test_another_program_on_the_port_does_not_stop_a_chat(home, port):
    with socket.create_server(("127.0.0.1", port)):
        assert "offline helper" in sojourn("chat", "-q", "hello").stdout
        said = sojourn("server", "status")
    assert (said.returncode, f"port {port}: another program had it" in said.stdout) == (0, True)


def test_the_environment_of_a_chat_beats_the_server_that_runs(home, port, monkeypatch):
    with (
        ModelServer([Say("The first model.")], aside=[Say("A title")]) as one,
        ModelServer([Say("The second model.")], aside=[Say("A title")]) as other,
    ):
        use_model(one, monkeypatch)
        assert "The first model." in sojourn("chat", "-q", "hello").stdout
        before = announced(home)["pid"]
        assert "The first model." in sojourn("chat", "-q", "hello").stdout
        assert announced(home)["pid"] == before
        assert "The second model." in sojourn("chat", "-q", "hello", SOJOURN_MODEL_BASE_URL=other.url).stdout


def test_the_server_is_shown_started_again_and_stopped(home, port):
    assert (sojourn("server", "status").returncode, sojourn("server", "stop").returncode) == (1, 0)
    assert sojourn("server", "restart").returncode != 0
    with serve() as serving:
        assert serving.stdout
        serving.stdout.readline()
        status = json.loads(sojourn("server", "status", "--json").stdout)
        assert (status["pid"], status["address"], status["turns"], status["until_idle"]) == (
            serving.pid,
            f"http://127.0.0.1:{port}",
            0,
            False,
        )
        second = sojourn("serve")
        assert (second.returncode, "sojourn server stop" in second.stderr) == (4, True)
        token = announced(home)["token"]
        again = sojourn("server", "restart")
        assert (again.returncode, f"pid {serving.pid}" in again.stdout) == (0, True)  # the same process, a new program
        assert (announced(home)["token"], announced(home)["started_at"] > status["started_at"]) == (token, True)
        assert sojourn("server", "stop").returncode == 0
        assert serving.wait(30) == 0
