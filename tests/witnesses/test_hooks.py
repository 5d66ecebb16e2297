"""The real agents ask here: a yes lets the call run, a no keeps it from running, and so does everything else."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.hook_steps import ROOM, list_buttons, press, read_ledger, until
from tests.e2e.http_server import Serving
from tests.witnesses.agent_programs import AgentPrograms

COMMAND = "touch made.txt"
CALLS = {
    "claude": Call("Bash", {"command": COMMAND, "description": "Make it"}),
    "codex": Call("exec_command", {"cmd": COMMAND, "sandbox_permissions": "require_escalated", "justification": "I"}),
    "gemini": Call("run_shell_command", {"command": COMMAND, "description": "Make it"}),
    "opencode": Call("bash", {"command": COMMAND, "description": "Make it"}),
}
NAMES = tuple(CALLS)


def slow(name):
    return pytest.param(name, marks=() if name == "claude" else pytest.mark.matrix)


class Terminal:
    """A program in a terminal that answers what programs ask terminals."""

    REPLIES = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?1;2c", b"\x1b]11;?": b"\x1b]11;rgb:0/0/0\x1b\\"}

    def __init__(self, command, person):
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        environment = {**person.environment, "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            command,
            cwd=person.project,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.shown = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while self.process.poll() is None:
            if not select.select([self._master], [], [], 0.2)[0]:
                continue
            try:
                part = os.read(self._master, 65536)
            except OSError:
                return
            self.shown += part
            for asked, reply in self.REPLIES.items():
                if asked in part:
                    os.write(self._master, reply)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)


class Opencode:
    """opencode's own server with one session in which this was said."""

    def __init__(self, command, person):
        self.process = subprocess.Popen(
            [*command, "serve", "--port", "0"],
            cwd=person.project,
            env=person.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        line = next(one for one in self.process.stdout if "listening on" in one)
        with httpx.Client(base_url=line.split()[-1], trust_env=False, timeout=60) as client:
            session = client.post("/session", json={}).json()["id"]
            said = {"parts": [{"type": "text", "text": "Make it"}]}
            assert client.post(f"/session/{session}/prompt_async", json=said).status_code < 300

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


def start_agent(name, person):
    """The program, having said that the file shall be made."""
    program = str(person.home / "bin" / name)
    if name == "opencode":
        return Opencode([program], person)
    command = {
        "claude": ["-p", "Make it", "--model", "claude-sonnet-4-5"],
        "codex": ["--dangerously-bypass-hook-trust", "Make it"],
        "gemini": ["-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-i", "Make it"],
    }[name]
    return Terminal([program, *command], person)


def configure(name, person):
    if name == "codex":
        path = person.home / ".codex/config.toml"
        text = path.read_text().replace('"never"', '"on-request"').replace("danger-full-access", "workspace-write")
        path.write_text(text)
    elif name == "opencode":
        path = person.home / ".config/opencode/opencode.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "permission": {"bash": "ask"}}))


@pytest.fixture
def model():
    with ModelServer([Say("Done.")], aside=[Say("A title")]) as server:
        yield server


@pytest.fixture
def person(tmp_path, model):
    return AgentPrograms(tmp_path, model)


@pytest.fixture
def prepared(request, person, model):
    """A program with our hooks."""
    name = request.param
    model.play(lambda asked: [Say("Done.")] if _is_answered(asked) or not _is_task(asked) else [CALLS[name]])
    person.set_up(name)
    configure(name, person)
    person.sojourn("hooks", "install", name, "--seconds", "60", "--yes")
    return name


def _is_task(asked):
    return bool(asked.tools)


def _is_answered(asked):
    """Whether the model is told how the call ended, in whichever protocol."""
    parts = [*asked.body.get("input", ()), *asked.messages]
    parts += [inner for one in parts if isinstance(one.get("content"), list) for inner in one["content"]]
    kinds = {str(one.get("type")) for one in parts} | {str(one.get("role")) for one in parts}
    return bool(kinds & {"function_call_output", "tool_result", "tool"}) or any(
        "functionResponse" in one for one in parts
    )


def wait_for_decision(name, model, server, choice):
    """Until the program has acted on the answer. opencode does not tell its model that it may not."""
    if name == "opencode" and choice == "Deny":
        until(lambda: read_ledger(server), 40)
        time.sleep(2)
    else:
        until(lambda: any(_is_answered(one) for one in model.asked), 40)


def serve(person):
    return Serving(person.home / ".sojourn", SOJOURN_GATEWAY_HOME=f"local:{ROOM}", SOJOURN_MEMORY_EMBEDDER="none")


@pytest.mark.parametrize("prepared", [slow(name) for name in NAMES], indirect=True)
@pytest.mark.parametrize("choice", ["Allow once", "Deny"])
def test_the_answer_is_what_happens(prepared, person, model, choice):
    made = person.project / "made.txt"
    with serve(person) as server:
        agent = start_agent(prepared, person)
        try:
            [message] = until(lambda: list_buttons(server), 60)
            assert COMMAND in message["text"]
            assert not made.exists()
            press(server, choice)
            wait_for_decision(prepared, model, server, choice)
        finally:
            agent.close()
        assert made.exists() == (choice == "Allow once")
        [row] = read_ledger(server)
        assert (row["program"], row["choice"], row["text"]) == (
            prepared,
            "once" if choice == "Allow once" else "deny",
            COMMAND,
        )


@pytest.mark.parametrize("prepared", [slow(name) for name in NAMES], indirect=True)
def test_nobody_answers(prepared, person, model):
    person.sojourn("hooks", "install", prepared, "--seconds", "10", "--yes")
    with serve(person) as server:
        agent = start_agent(prepared, person)
        try:
            until(lambda: list_buttons(server), 60)
            wait_for_decision(prepared, model, server, "Deny")
        finally:
            agent.close()
        assert not (person.project / "made.txt").exists()
        assert [one["choice"] for one in read_ledger(server)] == ["deny"]


@pytest.mark.parametrize("prepared", [slow(name) for name in NAMES if name != "gemini"], indirect=True)
@pytest.mark.parametrize("victim", ["hook", "server"])
def test_what_is_killed_allows_nothing(prepared, person, model, victim):
    with serve(person) as server:
        agent = start_agent(prepared, person)
        try:
            until(lambda: list_buttons(server), 60)
            if victim == "server":
                server.stop(signal.SIGKILL)
            else:
                [hook] = find_hooks(person)
                os.kill(hook, signal.SIGKILL)
                until(lambda: [one["choice"] for one in read_ledger(server)] == ["deny"])
            time.sleep(2)
        finally:
            agent.close()
    assert not (person.project / "made.txt").exists()


def find_hooks(person):
    """The processes of our hook that this person's programs started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes().decode().split("\0")
            if "sojourn.hooks" in words and str(person.home / ".sojourn") in words:
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("prepared", [slow(name) for name in NAMES], indirect=True)
def test_what_was_installed_is_taken_out(prepared, person):
    person.sojourn("hooks", "uninstall", prepared, "--yes")
    assert "asks by itself" in next(
        line for line in person.sojourn("hooks", "list").splitlines() if line.startswith(prepared)
    )
    for path in person.home.rglob("*"):
        if path.is_file() and path.suffix in (".json", ".js", ".toml") and ".sojourn" not in path.parts:
            assert "sojourn.hooks" not in path.read_text(errors="replace")
