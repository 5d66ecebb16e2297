"""The child process of an agent that speaks the Agent Client Protocol over stdin and stdout."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from pathlib import Path

from sojourn.core.errors import BadConfig, RuntimeFailed, RuntimeUnreachable
from sojourn.processes import GRACE_SECONDS, ChildProcess, OutputBuffer, start
from sojourn.runtimes.acp.settings import PLUGIN
from sojourn.text.ansi import strip_control

logger = logging.getLogger(__name__)

_STDERR_TAIL_BYTES = 16 * 1024


def words_of(command: str) -> list[str]:
    """The command as a program and its arguments."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadConfig(f"[plugins.{PLUGIN}] command is {command!r}: {error}.", hint="Check its quotes.") from error
    if not words:
        raise BadConfig(
            "No agent is set for the runtime acp.",
            hint=f'Set `command` under [plugins.{PLUGIN}], for example command = "hermes acp".',
        )
    return words


class AgentProcess:
    """A running agent: `reader` and `writer` are its stdout and stdin, stderr goes to the log."""

    def __init__(self, child: ChildProcess) -> None:
        self.reader, self.writer, self.id = child.reader, child.writer, child.pid
        self._child = child
        child.on_output = self._log_stderr

    @classmethod
    async def start(cls, command: str, cwd: Path, environment: Mapping[str, str] | None) -> AgentProcess:
        words = words_of(command)
        if not cwd.is_dir():
            raise RuntimeFailed(f"The folder {cwd} is not there.", hint="Choose another one for this session.")
        try:
            child = await start(
                words, cwd=cwd, env=environment, connect="streams", output=OutputBuffer(0, _STDERR_TAIL_BYTES)
            )
        except OSError as error:
            raise RuntimeUnreachable(
                f"The agent `{words[0]}` cannot be started: {error.strerror or error}.",
                hint=f"Install it, or correct `command` under [plugins.{PLUGIN}].",
            ) from error
        logger.info("started agent %s as process %s", words[0], child.pid)
        return cls(child)

    def _log_stderr(self, data: bytes) -> None:
        for line in strip_control(data.decode("utf-8", "replace")).splitlines():
            if line.strip():
                logger.info("agent %s: %s", self.id, line.strip()[:2000])

    @property
    def alive(self) -> bool:
        return self._child.is_running

    async def obituary(self) -> str:
        """How the process ended and the last line it wrote to stderr."""
        await self._child.wait(1.0)
        code = self._child.process.returncode
        how = "it is still there" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
        lines = [line.strip() for line in strip_control(self._child.output.text()).splitlines() if line.strip()]
        return f"{how}; its last words: {lines[-1][:300]}" if lines else how

    async def close(self) -> None:
        """Closes stdin, which ends a well-behaved agent; then ends its whole process tree."""
        self.writer.close()
        await self._child.wait(GRACE_SECONDS)
        await self._child.end()
