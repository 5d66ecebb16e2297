"""A real Hermes gateway in a child process, with a home of its own and a scripted model, for tests.

Needs an environment with `hermes-agent[acp,messaging]`; connects to nothing but the model's address.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO

_CONFIG = """\
model:
  provider: custom
  default: {model}
  base_url: {model_url}
  context_length: 131072
security:
  allow_lazy_installs: false
  tirith_enabled: false
model_catalog:
  enabled: false
agent:
  api_max_retries: 1
approvals:
  mode: manual
  timeout: {approval_seconds}
gateway:
  api_server:
    max_concurrent_runs: {most_runs}
"""
_START_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class HermesProcess:
    """One home and one gateway with its API server. `acp` is the command that starts Hermes as an ACP agent."""

    def __init__(
        self,
        venv: Path,
        folder: Path,
        *,
        model_url: str,
        model: str = "scripted-1",
        approval_seconds: int = 60,
        most_runs: int = 10,
    ) -> None:
        self.venv, self.home, self.workspace = venv, folder / "hermes", folder / "work"
        self.port, self.key = free_port(), secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.home.mkdir(parents=True)
        self.workspace.mkdir()
        config = _CONFIG.format(
            model=model, model_url=model_url, approval_seconds=approval_seconds, most_runs=most_runs
        )
        (self.home / "config.yaml").write_text(config, encoding="utf-8")
        # Keeps Hermes from checking for a newer version.
        seen = {"ts": 4102444800, "behind": 0, "rev": None, "ver": "0.19.0"}
        (self.home / ".update_check").write_text(json.dumps(seen), encoding="utf-8")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of Hermes, without the variables of the person who runs the test."""
        return {
            "PATH": f"{self.venv / 'bin'}:/usr/bin:/bin",
            "HOME": str(self.workspace),
            "HERMES_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    @property
    def acp(self) -> list[str]:
        """The command that starts an ACP agent."""
        words = [f"{name}={value}" for name, value in self.environment.items()]
        return ["env", "-i", *words, str(self.venv / "bin" / "hermes"), "acp"]

    def start(self) -> None:
        """Starts the gateway and waits until its API server answers."""
        api_server = {
            "API_SERVER_ENABLED": "true",
            "API_SERVER_HOST": "127.0.0.1",
            "API_SERVER_PORT": str(self.port),
            "API_SERVER_KEY": self.key,
        }
        self._log = (self.home.parent / "gateway.log").open("ab")
        self._process = subprocess.Popen(
            [self.venv / "bin" / "hermes", "gateway", "run"],
            cwd=self.workspace,
            env=self.environment | api_server,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"Hermes did not start:\n{self.log()[-2000:]}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    @property
    def pid(self) -> int:
        """The process that runs, 0 if none does."""
        return self._process.pid if self._process else 0

    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        return (self.home.parent / "gateway.log").read_text(encoding="utf-8", errors="replace")

    def pause(self) -> None:
        """Suspends the process: its connections stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process, so that no connection is closed properly."""
        self._signal(signal.SIGKILL)
        self._clean_up(5)

    def stop(self) -> None:
        if self._process is not None:
            self._signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
            self._signal(signal.SIGKILL)
        self._clean_up(5)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                return

    def _clean_up(self, seconds: float) -> None:
        if self._process is not None:
            self._process.wait(timeout=seconds)
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None
