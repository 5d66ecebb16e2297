"""Attacks through the whole program: a misled model calls the tools of a real server, and everything is allowed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from tests.e2e.http_server import Serving
from tests.security.attack_lines import attack_lines, encode
from tests.security.outside import Outside, support_of

AT_ONCE = 4  # calls in one answer of the model


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


def fill(template: str, outside: Outside) -> str:
    line = template.removeprefix("ENCODED ").format(**outside.names)
    return encode(line) if template.startswith("ENCODED") else line


def processes_in(folder: Path) -> list[str]:
    """The processes, anywhere, that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(entry, "cwd").readlink().is_relative_to(folder):
                found.append(Path(entry, "cmdline").read_text())
        except OSError:
            continue
    return found


def run_calls(server: Serving, model: ModelServer, workspace: Path, *calls: Call) -> str:
    """Lets the model call tools in one turn of a new session; returns what they said."""
    made = server.client.post("/api/sessions", json={"cwd": str(workspace)})
    session = made.raise_for_status().json()["id"]
    model.play(list(calls), [Say("Done.")])
    server.client.post(f"/api/sessions/{session}/turns", json={"message": "go on"}).raise_for_status()
    until = time.monotonic() + 100
    while server.client.get(f"/api/sessions/{session}/turns/running").json()["turn_id"]:
        assert time.monotonic() < until, "the turn did not end"
        time.sleep(0.05)
    messages = server.client.get(f"/api/sessions/{session}/messages").json()["messages"]
    said = [str(one["content"]) for one in messages if one["role"] == "tool"]
    assert len(said) == len(calls), messages
    return "\n".join(said)


def test_no_call_of_a_misled_model_has_an_effect_outside(outside, folder, database_url, monkeypatch):
    support_of("bubblewrap")
    workspace = folder / "workspace"
    workspace.mkdir()
    monkeypatch.setenv("HOME", str(outside.names["home"]))
    monkeypatch.setenv("SOJOURN_DATABASE_URL", database_url)
    lines = [fill(one, outside) for one in attack_lines()[::3]]
    faults: list[str] = []
    refused = 0
    with ModelServer() as model:
        (folder / "home").mkdir()
        (folder / "home" / "config.toml").write_text(
            f'[model]\nprovider = "openai"\nname = "scripted-1"\nbase_url = "{model.url}"\napi_key = "sk-scripted"\n'
            '[agent]\nruntime = "native"\ntitles = false\n[tools]\napproval = "always"\nseconds = 5\n'
        )
        with Serving(folder / "home", "--no-gateway") as server:
            for at in range(0, len(lines), AT_ONCE):
                part = lines[at : at + AT_ONCE]
                calls = [Call("terminal", {"command": line}, id=f"c{n}") for n, line in enumerate(part)]
                text = run_calls(server, model, workspace, *calls)
                faults += outside.find_faults("\n".join(part), text)
                refused += text.count("Permission denied") + text.count("Read-only file system")
            text = run_calls(
                server,
                model,
                workspace,
                Call("execute_code", {"code": f"print(open({str(outside.names['key'])!r}).read())"}, id="a"),
                Call("write_file", {"path": str(outside.names["file"]), "content": "broken"}, id="b"),
                Call("process", {"action": "start", "command": "setsid sleep 61 & sleep 61"}, id="c"),
            )
            faults += outside.find_faults("other tools", text)
            assert processes_in(workspace), "the background process was not started"
        assert processes_in(workspace) == []
    assert not faults, "\n".join(faults)
    assert refused > 10, "hardly anything was run"
