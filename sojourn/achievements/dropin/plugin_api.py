"""Achievements in a Hermes dashboard: hands each request to Sojourn, which runs in a process and Python of its own.

Written by `sojourn achievements install-hermes-plugin`; needs nothing but what the dashboard itself uses.
`sojourn.json` in the plugin's folder names the command. The badges are those of hermes-achievements (PCinkusz, MIT).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import threading
from pathlib import Path

from fastapi import APIRouter, Request, Response

COMMAND_FILE = Path(__file__).parents[1] / "sojourn.json"  # the dashboard serves the files beside this one
MAX_WAIT_SECONDS = 330.0  # a little more than the longest wait that Sojourn allows
router = APIRouter()


class Helper:
    """One Sojourn process for all requests; started by the first one, and again if it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[tuple[int, bytes]]]] = {}

    async def ask(self, method: str, path: str, query: dict[str, str]) -> tuple[int, bytes]:
        answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        self._waiting[number] = (asyncio.get_running_loop(), answer)
        request = {"id": number, "method": method, "path": path, "query": query}
        try:
            await asyncio.to_thread(self._send, json.dumps(request).encode() + b"\n")
            return await asyncio.wait_for(answer, MAX_WAIT_SECONDS)
        except (OSError, ValueError) as error:
            return 503, _problem(f"Sojourn cannot be started: {error}")
        except TimeoutError:
            return 503, _problem("Sojourn did not answer.")
        finally:
            self._waiting.pop(number, None)

    def _send(self, line: bytes) -> None:
        with self._lock:
            process = self._process
            if process is None or process.poll() is not None:
                command = json.loads(COMMAND_FILE.read_text("utf-8"))["command"]
                process = self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                threading.Thread(target=self._listen, args=(process,), daemon=True).start()
            assert process.stdin is not None
            process.stdin.write(line)
            process.stdin.flush()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            head = json.loads(line)
            self._answer(head["id"], (head["status"], process.stdout.read(head["bytes"])))
        for number in list(self._waiting):
            self._answer(number, (503, _problem("Sojourn ended before it answered.")))

    def _answer(self, number: int, answer: tuple[int, bytes]) -> None:
        loop, future = self._waiting.get(number, (None, None))
        if loop is not None and future is not None:
            loop.call_soon_threadsafe(lambda: None if future.done() else future.set_result(answer))


def _problem(detail: str) -> bytes:
    return json.dumps({"title": "Achievements are not available", "status": 503, "detail": detail}).encode()


helper = Helper()


@router.api_route("/{path:path}", methods=["GET", "POST"])
async def forward(path: str, request: Request) -> Response:
    status, body = await helper.ask(request.method, path, dict(request.query_params))
    return Response(body, status, media_type="application/json")
