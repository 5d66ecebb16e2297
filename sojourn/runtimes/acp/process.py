"""The agent's process: started in a group of its own, listened to on stderr, and gone with all its children."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sojourn.core.errors import BadConfig, RuntimeFailed, RuntimeUnreachable
from sojourn.runtimes.acp.settings import PLUGIN
from sojourn.text.ansi import strip_control

logger = logging.getLogger(__name__)

_LONGEST_LINE = 64 * 1024 * 1024  # an agent may send a picture on one line
_GRACE = 2.0


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
    """One life of it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        self.reader, self.writer = process.stdout, process.stdin
        self._process, self.id = process, process.pid
        self._last_words: deque[str] = deque(maxlen=5)
        self._listening = asyncio.create_task(self._listen(process.stderr))

    @classmethod
    async def start(cls, command: str, cwd: Path, environment: Mapping[str, str] | None) -> AgentProcess:
        words = words_of(command)
        if not cwd.is_dir():
            raise RuntimeFailed(f"The folder {cwd} is not there.", hint="Choose another one for this session.")
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=-1,
                stdout=-1,
                stderr=-1,
                cwd=cwd,
                env=environment,
                start_new_session=True,
                limit=_LONGEST_LINE,
            )
        except OSError as error:
            raise RuntimeUnreachable(
                f"The agent `{words[0]}` cannot be started: {error.strerror or error}.",
                hint=f"Install it, or correct `command` under [plugins.{PLUGIN}].",
            ) from error
        logger.info("started agent %s as process %s", words[0], process.pid)
        return cls(process)

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        with suppress(ValueError):  # a line without end
            while line := await stderr.readline():
                text = strip_control(line.decode("utf-8", "replace")).strip()
                if text:
                    self._last_words.append(text[:300])
                    logger.info("agent %s: %s", self._process.pid, text[:2000])

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def obituary(self) -> str:
        """How it ended and what it said last, once it has."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self._process.wait()
                await self._listening
        code = self._process.returncode
        how = "it is still there" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
        said = f"; its last words: {self._last_words[-1]}" if self._last_words else ""
        return f"{how}{said}"

    async def close(self) -> None:
        """Closes its input, which ends a good agent; then the whole group is asked, then made to go."""
        self.writer.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(_GRACE):
                    await self._process.wait()
                break
        self._signal(signal.SIGKILL)  # children that outlived it
        self._listening.cancel()
        await asyncio.wait({self._listening})
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):  # a pipe is only closed when it was read to its end
                while await self.reader.read(65536):
                    pass
        with suppress(OSError):
            await self.writer.wait_closed()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
