"""Steps of the tests of hooks: an agent's hook as a process, and what a person sees of its question."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.e2e.http_server import Serving

T = TypeVar("T")
ASKED = {
    "hook_event_name": "PermissionRequest",
    "session_id": "11111111-1111-4111-8111-111111111111",
    "cwd": "/",
    "tool_name": "Bash",
    "tool_input": {"command": "make clean", "description": "harmless, believe me"},
}
ROOM = "desk"


def start_hook(home: Path, program: str = "claude", *, seconds: int = 60, cwd: Path | None = None) -> subprocess.Popen:
    command = [sys.executable, "-EP", "-m", "sojourn.hooks", program]
    command += ["--home", str(home), "--seconds", str(seconds)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd
    )


def send(hook: subprocess.Popen, event: Any) -> None:
    assert hook.stdin
    hook.stdin.write(event if isinstance(event, str) else json.dumps(event))
    hook.stdin.close()
    hook.stdin = None


def read_decision(hook: subprocess.Popen, seconds: float = 30) -> dict[str, Any]:
    """What Claude Code or Codex is told; empty if nothing."""
    out, err = hook.communicate(timeout=seconds)
    assert (hook.returncode, err) == (0, "")
    return json.loads(out)["hookSpecificOutput"]["decision"] if out else {}


def until(condition: Callable[[], T], seconds: float = 20) -> T:
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)
    return found


def list_waiting(server: Serving) -> list[dict[str, Any]]:
    return [one for one in server.get("/api/sessions").json()["sessions"] if one["waiting"]]


def list_buttons(server: Serving) -> list[dict[str, Any]]:
    """The messages with buttons in the owner's room."""
    answer = server.get(f"/api/plugins/local/rooms/{ROOM}/messages")
    return [one for one in answer.json()["messages"] if one.get("buttons")] if answer.status_code == 200 else []


def press(server: Serving, label: str, sender: str = "owner") -> None:
    message = until(lambda: list_buttons(server))[-1]
    value = next(one["value"] for one in message["buttons"] if one["label"] == label)
    path = f"/api/plugins/local/rooms/{ROOM}/messages/{message['n']}/press"
    answer = server.client.post(path, json={"value": value, "sender": sender})
    assert answer.status_code == 201, answer.text


def read_ledger(server: Serving) -> list[dict[str, Any]]:
    return server.get("/api/plugins/hooks/answers").json()
