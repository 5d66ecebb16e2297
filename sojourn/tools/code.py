"""execute_code: a piece of Python in a process of its own, with limits."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace, tool
from sojourn.tools.commands import folder_for, run_to_end
from sojourn.tools.judging import dangers_in_code

MEMORY = 2 << 30  # bytes of address space
FILE = 256 << 20  # bytes of the largest file it may write
LONGEST = 200_000  # characters of code

# Sets the limits in the new process itself, then becomes the code: nothing has to run between fork and exec.
BEGINNING = """
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
        reasons = dangers_in_code(code)
        why = f" It {'; it '.join(reasons)}." if reasons else ""
        return Question(id="", text=f"Run this Python?{why}", detail=code[:4000], dangerous=bool(reasons))

    @tool(effect="runs", asks=asks)
    async def execute_code(at: Workspace, code: str, timeout: int = 0) -> ToolResult:
        """Runs Python code in the workspace and returns what it prints. Nothing is kept between two calls.

        code: the Python source
        timeout: seconds it may take, at most the limit of the settings
        """
        if not code.strip() or len(code) > LONGEST:
            raise BadInput(f"The code has {len(code)} characters.", hint=f"Give 1 to {LONGEST}.")
        seconds = min(timeout, at.seconds) if timeout > 0 else at.seconds
        cwd = folder_for(at, ".", kit.settings)
        with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
            path = Path(folder, "code.py")
            path.write_text(code, "utf-8")
            beginning = BEGINNING.format(
                memory=MEMORY, file=FILE, cpu=max(1, int(seconds) + 1), path=str(path), cwd=str(cwd)
            )
            argv = [sys.executable, "-I", "-u", "-c", beginning]
            return await run_to_end(argv, at, cwd=cwd, settings=kit.settings, seconds=seconds)

    return execute_code
