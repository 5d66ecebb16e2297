"""How soon the question of another agent has buttons in a chat: on `local`, through a real server and the real hook."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from bench.report import limit, save_result
from tests.e2e.hook_steps import ASKED, ROOM, list_buttons, press, read_decision, send, start_hook, until
from tests.e2e.http_server import Serving

TRIES = 40
IMPORT_SECONDS = 1.0  # that the hook's interpreter may take to be ready: what it then does is measured


def measure(server: Serving) -> tuple[float, float]:
    """Seconds from the question to its buttons, and from the press to the decision."""
    hook = start_hook(server.home)
    time.sleep(IMPORT_SECONDS)
    begun = time.monotonic()
    send(hook, ASKED)
    until(lambda: list_buttons(server))
    shown = time.monotonic()
    press(server, "Deny")
    read_decision(hook)
    ended = time.monotonic()
    until(lambda: not list_buttons(server))
    return shown - begun, ended - shown


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-", ignore_cleanup_errors=True) as name:
        home = Path(name) / "home"
        with Serving(home, SOJOURN_GATEWAY_HOME=f"local:{ROOM}", SOJOURN_MEMORY_EMBEDDER="none") as server:
            measure(server)
            pairs = [measure(server) for _ in range(TRIES)]
    shown, answered = ([1000 * pair[n] for pair in pairs] for n in range(2))
    bars = [limit("question to button, median", statistics.median(shown), "ms", most=200)]
    details = {
        "question to button, ms": [round(one, 1) for one in shown],
        "button to decision, median, ms": round(statistics.median(answered), 1),
    }
    save_result("hook_questions", bars, details)


if __name__ == "__main__":
    main()
