"""A setting that restricts is in force everywhere as soon as its command has ended: in a running server and turn."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.testing.model_script import Call, ModelRequest, Say, Step
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import PROGRAM, Serving


def run_command(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "--home", home, *args], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture
def server(home: Path, model: ModelServer) -> Iterator[Serving]:
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'[model]\nprovider = "openai"\nname = "scripted-1"\nbase_url = "{model.url}"\napi_key = "scripted"\n'
        '[agent]\ntitles = false\n[tools]\napproval = "always"\n[gateway]\nembedded = false\n'
    )
    with Serving(home) as server:
        yield server


def take_turn(server: Serving, text: str) -> str:
    asked = {"model": "native", "messages": [{"role": "user", "content": text}]}
    answer = server.client.post("/v1/chat/completions", json=asked)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_tools_denied_in_mid_turn_do_not_run(server: Serving, model: ModelServer, home: Path) -> None:
    def deny_then_write(_: ModelRequest) -> list[Step]:
        denied = run_command(home, "config", "set", "tools.approval", "deny")
        assert denied.returncode == 0, denied.stderr
        return [Call("write_file", {"path": "after.txt", "content": "x"})]

    model.play([Call("write_file", {"path": "before.txt", "content": "x"})], deny_then_write, [Say("Done.")])
    events = take_turn(server, "write two files")
    workspace = home / "workspace"
    assert (workspace / "before.txt").exists(), events
    assert not (workspace / "after.txt").exists(), events
    assert "do not allow write_file" in str(model.asked[-1].body)


def test_a_running_server_follows_a_limit(server: Serving, model: ModelServer, home: Path) -> None:
    """Here the number of requests to a model, whose last one may not call tools."""
    assert run_command(home, "config", "set", "model.steps", "1").returncode == 0
    model.play([Say("Done.")])
    take_turn(server, "hello")
    assert model.asked[-1].body.get("tool_choice") == "none"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tools.approval", "dney"),
        ("tools.approval", "ask, terminl=deny"),
        ("tools.guest_tools", "web_fech"),
        ("agent.spend_day_usd", "much"),
        ("agent.spend_day_usd", "-1"),
        ("agent.runtime", "natve"),
        ("gateway.when_busy", "drop"),
        ("gateway.owners", "42"),
        ("gateway.guests", "telegram:"),
        ("gateway.platforms", "telegrm"),
    ],
)
def test_an_invalid_value_is_refused_and_nothing_is_written(home: Path, key: str, value: str) -> None:
    refused = run_command(home, "config", "set", "--", key, value)
    assert refused.returncode not in (0, 1), refused
    assert key in refused.stderr
    assert not (home / "config.toml").exists()


def test_a_broken_file_changes_nothing_and_is_told(server: Serving, model: ModelServer, home: Path) -> None:
    file = home / "config.toml"
    file.write_text(file.read_text().replace("always", "dney"))
    model.play([Call("write_file", {"path": "one.txt", "content": "x"})], [Say("Done.")])
    take_turn(server, "write")
    assert (home / "workspace" / "one.txt").exists()  # what was in force stays in force
    assert "dney" in (home / "logs" / "sojourn.log").read_text()
