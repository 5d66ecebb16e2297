"""The tool `execute_code`: runs Python code in a process of its own, with resource limits."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.danger import FIND_CODE_DANGERS
from sojourn.tools.run_command import run_command, working_folder

MEMORY_BYTES = 2 << 30  # of address space
FILE_BYTES = 256 << 20  # of the largest file it may write
MAX_CODE_CHARS = 200_000

# Sets the limits in the new process itself, then becomes the code: nothing has to run between fork and exec.
PRELUDE = """
import resource, runpy, sys
for what, most in ((resource.RLIMIT_AS, {memory}), (resource.RLIMIT_FSIZE, {file}), (resource.RLIMIT_CPU, {cpu}),
                   (resource.RLIMIT_CORE, 0)):
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))
sys.argv = [{path!r}]
sys.path.insert(0, {cwd!r})
runpy.run_path({path!r}, run_name="__main__")
"""


def execute_code_tool(kit: HasSettings) -> Tool:
    def asks(_: Workspace, given: Mapping[str, Json]) -> Question | None:
        code = given["code"]
        reasons = FIND_CODE_DANGERS.load()(code)
        why = f" It {'; it '.join(reasons)}." if reasons else ""
        return Question(id="", text=f"Run this Python?{why}", detail=code[:4000], dangerous=bool(reasons))

    @tool(effect="runs", asks=asks)
    async def execute_code(at: Workspace, code: str, timeout: int = 0) -> ToolResult:
        """Runs Python code in the workspace and returns what it prints. Nothing is kept between two calls.

        code: the Python source
        timeout: seconds it may take, at most the limit of the settings
        """
        if not code.strip() or len(code) > MAX_CODE_CHARS:
            raise BadInput(f"The code has {len(code)} characters.", hint=f"Give 1 to {MAX_CODE_CHARS}.")
        seconds = min(timeout, at.seconds) if timeout > 0 else at.seconds
        cwd = working_folder(at, ".", kit.settings)
        with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
            path = Path(folder, "code.py")
            path.write_text(code, "utf-8")
            prelude = PRELUDE.format(
                memory=MEMORY_BYTES, file=FILE_BYTES, cpu=max(1, int(seconds) + 1), path=str(path), cwd=str(cwd)
            )
            argv = [sys.executable, "-I", "-u", "-c", prelude]
            return await run_command(argv, at, cwd=cwd, settings=kit.settings, seconds=seconds)

    return execute_code
