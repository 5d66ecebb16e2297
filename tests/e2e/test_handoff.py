"""Hand-offs as a person does them: the real program, a real server with its gateway, a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from sojourn.testing.model_script import Call, Refuse, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.chat_terminal import Chatter

SOJOURN = str(Path(sys.executable).with_name("sojourn"))


@pytest.fixture
def model(monkeypatch):
    with ModelServer(aside=[Say("A title")]) as server:
        monkeypatch.setenv("SOJOURN_MODEL_PROVIDER", "openai")
        monkeypatch.setenv("SOJOURN_MODEL_BASE_URL", server.url)
        monkeypatch.setenv("SOJOURN_MODEL", "scripted-1")
        monkeypatch.setenv("SOJOURN_MODEL_API_KEY", "k")
        monkeypatch.setenv("SOJOURN_RUNTIME", "native")
        monkeypatch.setenv("SOJOURN_TITLES", "no")
        yield server


class Rooms:
    """The rooms of a server, over its API."""

    def __init__(self, home: Path) -> None:
        said = json.loads((home / "server.json").read_text())
        self._line = httpx2.Client(
            base_url=said["address"], headers={"Authorization": f"Bearer {said['token']}"}, timeout=30, trust_env=False
        )

    def say(self, room: str, text: str, thread: str | None = None) -> None:
        sent = self._line.post(f"/api/plugins/local/rooms/{room}/messages", json={"text": text, "thread": thread})
        assert sent.status_code == 201, sent.text

    def answers(self, room: str, count: int) -> list[tuple[str | None, str]]:
        """(thread, text) of what the agent said there, when it is that much."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            found = self._line.get(f"/api/plugins/local/rooms/{room}/messages").json()["messages"]
            ours = [(one["thread"], one["text"]) for one in found if one["ours"] and not one["opens"]]
            if len(ours) >= count:
                return ours
            time.sleep(0.05)
        raise AssertionError(f"only {ours}")

    def close(self) -> None:
        self._line.close()


@pytest.fixture
def server(home, model):
    """A server with its gateway, as `sojourn serve` gives it."""
    process = subprocess.Popen(
        [SOJOURN, "serve", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready ")
    rooms = Rooms(home)
    yield rooms
    rooms.close()
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    process.stdout.close()


def sojourn(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SOJOURN, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)


def asked(model: ModelServer) -> list[dict]:
    return [dict(one.body) for one in model.asked if one.streams]


def a_session(model: ModelServer) -> str:
    model.play([Say("Let me look. "), Call("read_file", {"path": "notes.txt"})], [Say("There is no such file.")])
    done = sojourn("chat", "-q", "what do my notes say?", "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["session_id"])


def test_thread_path(model, server):
    """From the terminal into a fresh thread, where the next words go on with the very same session."""
    session = a_session(model)
    model.play([Say("Hello from here.")], [Say("You said it.")])
    done = sojourn("handoff", session, "--to", "local", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["state"], told["platform"]) == (0, "completed", "local")
    thread = told["thread_id"]
    assert server.answers("home", 1) == [(thread, "Hello from here.")]
    server.say("home", "and now?", thread)
    assert server.answers("home", 2)[1] == (thread, "You said it.")


def test_the_model_request_holds_the_original_roles_and_calls_and_no_pasted_transcript(model, server):
    session = a_session(model)
    model.play([Say("Hello from here.")])
    assert sojourn("handoff", session, "--to", "local").returncode == 0
    request = asked(model)[-1]
    messages = [one for one in request["messages"] if one["role"] != "system"]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "read_file"
    assert messages[3]["content"] == "There is no such file."
    last = json.dumps(messages[-1])
    assert "handed over from cli" in last
    assert "no such file" not in last
    assert "read_file" not in last


def test_no_thread_path(model, server):
    """Where there are no threads it lands in the chat itself, says why, and goes on there."""
    session = a_session(model)
    model.play([Say("Hello from here.")], [Say("Still me.")])
    done = sojourn("handoff", session, "--to", "local:!news")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "!news has no threads" in done.stdout
    assert server.answers("!news", 1) == [(None, "Hello from here.")]
    server.say("!news", "go on")
    assert server.answers("!news", 2)[1] == (None, "Still me.")


def test_failure_path(model, server):
    """The reason is shown, nothing is sent, and the session in the terminal is intact."""
    session = a_session(model)
    model.play(*[[Refuse(401, "scripted bad key")]] * 3)
    done = sojourn("handoff", session, "--to", "local")
    assert done.returncode == 9
    assert "The hand-off failed" in done.stderr
    assert "intact" in done.stderr
    model.play([Say("Still at your desk.")])
    again = sojourn("chat", "--session", session, "-q", "are you there?")
    assert (again.returncode, again.stdout.strip()) == (0, "Still at your desk.")
    assert server.answers("home", 0) == []


def test_a_chat_hands_itself_over_and_leaves(model, server):
    model.play([Say("A tree, then.")], [Say("Hello from the room.")])
    person = Chatter()
    person.sees("/help")
    person.says("plant a tree")
    person.sees("A tree, then.")
    person.says("/handoff local")
    person.sees("is on")  # that it was delivered is true for a moment only: who looks later does not see it
    person.sees("Come back with")
    assert person.leaves() == 0
    assert [text for _, text in server.answers("home", 1)] == ["Hello from the room."]


def test_a_chat_stays_when_the_handoff_cannot_work(model, server):
    model.play([Say("A tree, then.")], [Say("Still here.")])
    person = Chatter()
    person.sees("/help")
    person.says("plant a tree")
    person.sees("A tree, then.")
    person.says("/handoff telegram")
    person.sees("No gateway serves")
    person.says("go on")
    person.sees("Still here.")
    assert person.quits() == 0


def test_without_a_gateway_it_is_said_at_once(model):
    session = a_session(model)
    said = json.loads((Path(os.environ["SOJOURN_HOME"]) / "server.json").read_text())
    os.kill(said["pid"], signal.SIGTERM)
    began = time.monotonic()
    while (Path(os.environ["SOJOURN_HOME"]) / "server.json").exists() and time.monotonic() < began + 10:
        time.sleep(0.05)
    began = time.monotonic()
    done = sojourn("handoff", session, "--to", "local")
    assert done.returncode == 10
    assert "No gateway is running" in done.stderr
    assert "sojourn gateway run" in done.stderr
    assert time.monotonic() - began < 5


def test_and_back_to_the_terminal(model, server):
    session = a_session(model)
    model.play([Say("Hello from here.")], [Say("Welcome back.")])
    assert sojourn("handoff", session, "--to", "local").returncode == 0
    back = sojourn("chat", "--session", session, "-q", "I am back")
    assert (back.returncode, back.stdout.strip()) == (0, "Welcome back.")
    history = sojourn("handoff", session, "--to", "cli", "--json")
    assert json.loads(history.stdout)["state"] == "completed"
