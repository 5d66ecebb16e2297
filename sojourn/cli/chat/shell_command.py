"""`!command`: runs a command of the person's own at their terminal; its output goes along with the next message."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

_MAX_OUTPUT_BYTES = 30_000
_MAX_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult:
    """What a command printed, and its exit code; None if it was ended after two minutes."""

    command: str
    output: str
    code: int | None

    def render(self) -> str:
        """As it is told to the agent."""
        end = "it was ended after two minutes" if self.code is None else f"exit code {self.code}"
        return f"I ran `{self.command}` ({end}):\n```\n{self.output.rstrip()}\n```"


async def run_shell_command(command: str, folder: str) -> ShellResult:
    """Runs a command in the person's folder, with the person's rights: they typed it."""
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder or None,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    code: int | None = None
    output = bytearray()
    try:
        async with asyncio.timeout(_MAX_SECONDS):
            assert process.stdout is not None
            while part := await process.stdout.read(65536):
                output += part[: max(0, _MAX_OUTPUT_BYTES - len(output))]
            code = await process.wait()
    except TimeoutError:
        os.killpg(process.pid, 9)
        await process.wait()
    text = output.decode("utf-8", "replace")
    if len(output) >= _MAX_OUTPUT_BYTES:
        text += "\n[… the rest is left out]"
    return ShellResult(command=command, output=text, code=code)
