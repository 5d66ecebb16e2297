"""Where nobody can answer, the answer is no at once; what was allowed beforehand stays inside the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import PROGRAM
from tests.security.agent_server import open_agent, write_config

WRITE = "echo here > made.txt"
REFUSED = 8


def chat(home: Path, *args: str, calls: Any, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`sojourn chat -q` in a folder of its own, without a server."""
    folder = home.parent / "work"
    folder.mkdir(exist_ok=True)
    with ModelServer(calls, [Say("That is all.")]) as model:
        write_config(home, model)
        command = [str(PROGRAM), "--home", str(home), "chat", "--in-process", "--runtime", "native", "-q", "go", *args]
        return subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_over_v1_hung_until_the_question_timed_out(home: Path, stream: bool) -> None:
    with open_agent(home, [Call("terminal", {"command": WRITE})], [Say("I could not.")]) as agent:
        body = {"model": "native", "messages": [{"role": "user", "content": "go"}], "stream": stream}
        try:
            answer = agent.client.post("/v1/chat/completions", json=body, timeout=20)
        except httpx.ReadTimeout:
            pytest.fail("it hangs")
        assert "I could not." in answer.text.replace('"}', "") or stream
        session = answer.headers["Sojourn-Session"]
        [told] = agent.done(session)
        assert "Nobody can answer here" in told
        assert not (agent.folder / "made.txt").exists()


def test_a_refused_tool_was_exit_code_zero(home: Path) -> None:
    done = chat(home, calls=[Call("terminal", {"command": WRITE})])
    assert done.returncode == REFUSED, done.stderr
    assert "That is all." in done.stdout
    assert "Nobody can answer here" in done.stderr
    assert "--allow terminal" in done.stderr
    assert not (home.parent / "work" / "made.txt").exists()


def test_a_refused_tool_was_exit_code_zero_with_json_too(home: Path) -> None:
    done = chat(home, "--json", calls=[Call("terminal", {"command": WRITE})])
    assert done.returncode == REFUSED
    [refused] = json.loads(done.stdout)["refused"]
    assert refused["tool"] == "terminal"
    assert "Nobody can answer here" in refused["why"]


def test_there_was_no_way_to_say_yes_beforehand(home: Path) -> None:
    done = chat(home, "--allow", "terminal", calls=[Call("terminal", {"command": WRITE})])
    assert done.returncode == 0, done.stderr
    assert (home.parent / "work" / "made.txt").read_text() == "here\n"


@pytest.mark.parametrize("access", ["network", "outside"])
def test_allowed_beforehand_does_not_reach_beyond_the_sandbox(home: Path, access: str) -> None:
    done = chat(home, "--allow", "terminal", calls=[Call("terminal", {"command": WRITE, "access": access})])
    assert done.returncode == REFUSED, done.stderr
    assert "inside the sandbox" in done.stderr
    assert not (home.parent / "work" / "made.txt").exists()


def test_without_a_complete_sandbox_nothing_is_allowed_beforehand(home: Path) -> None:
    without_bubblewrap = {"PATH": "/nonexistent"}
    calls = [Call("terminal", {"command": WRITE})]
    done = chat(home, "--allow", "terminal", calls=calls, env=without_bubblewrap)
    assert done.returncode == REFUSED, done.stderr
    assert "not complete" in done.stderr
    assert not (home.parent / "work" / "made.txt").exists()


def test_allowing_a_tool_that_does_not_exist_says_so(home: Path) -> None:
    done = chat(home, "--allow", "termnial", calls=[Say("hello")])
    assert done.returncode == 2
    assert "termnial" in done.stderr


def test_allow_needs_a_question(home: Path) -> None:
    done = subprocess.run(
        [str(PROGRAM), "--home", str(home), "chat", "--allow", "terminal"],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
