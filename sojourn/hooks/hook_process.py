"""The hook process: a program starts it with an event, and it asks the server of this home.

Without a server it says nothing, and the program asks by itself, as it would without us. With one, only a yes that the
proven server sent is a yes: whatever goes wrong is a no. It loads little, because a program waits for it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from http.client import HTTPException
from pathlib import Path
from typing import Any

from sojourn.hooks.hook_input import LABELS, HookEvent, parse_event, render_answer
from sojourn.server_file import Server, is_serving, read_server_file, request_json

EVENT_PATH = "/api/plugins/hooks/events"
_GRACE_SECONDS = 10.0  # that the server may take longer than the person
_NOTICE_SECONDS = 5.0
_MAX_INPUT_BYTES = 20_000_000


def run(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="sojourn.hooks")
    parser.add_argument("program", choices=list(LABELS))
    parser.add_argument("--home", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args(arguments)
    said = _read_input()
    event = parse_event(given.program, said)
    server = _find_server(given.home) if event is not None else None
    if event is None or server is None:
        return
    if event.kind == "question":
        choice, why = ask(server, event, given.seconds)
        sys.stdout.write(render_answer(given.program, said, choice, why))
    else:
        _send(server, event, 0.0, _NOTICE_SECONDS)


def _read_input() -> Any:
    try:
        return json.loads(sys.stdin.buffer.read(_MAX_INPUT_BYTES))
    except (ValueError, OSError, RecursionError):
        return None


def _find_server(home: Path) -> Server | None:
    server = read_server_file(home)
    return server if server is not None and is_serving(server) else None


def ask(server: Server, event: HookEvent, seconds: float) -> tuple[str, str]:
    """The choice of a person, and the reason for a no."""
    answer = _send(server, event, seconds, seconds + _GRACE_SECONDS)
    if not isinstance(answer, dict) or not isinstance(answer.get("choice"), str):
        return "deny", "Sojourn could not be asked, so this was not allowed."
    return answer["choice"], str(answer.get("why") or "The person said no.")


def _send(server: Server, event: HookEvent, seconds: float, timeout: float) -> Any:
    try:
        return request_json(server, "POST", EVENT_PATH, {**asdict(event), "seconds": seconds}, timeout=timeout)
    except (OSError, HTTPException, ValueError, RecursionError):
        return None
