"""Exit codes: where a result names one, and which codes other than 0 are answers and not failures."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sojourn.core.messages import Json
from sojourn.templates.judge import failure_text
from sojourn.templates.judge import shell_command as shell
from sojourn.templates.judge.call import Call

_HEADER = re.compile(
    r"\s*(?:.{0,80}\n){0,3}?(?:Exit code:? |Process exited with code )(-?\d+)[^\n]*"
    r"(?:\n(?:Wall time|Original token).*)*(?:\nOutput:)?"
)
_HEADER_CHARACTERS = 600
FIELDS = ("exit_code", "exitCode", "returncode", "return_code")


def parse_header(text: str) -> tuple[int, str] | None:
    """The exit code in the first lines of a result, and the output below."""
    hit = _HEADER.match(text, 0, _HEADER_CHARACTERS)
    return (int(hit[1]), text[hit.end() :]) if hit else None


def code_in(found: Mapping[str, Json]) -> int:
    """The exit code in a JSON result; 0 if it has none."""
    for name in FIELDS:
        if isinstance(value := found.get(name), int):
            return int(value)
    inner = found.get("metadata")
    return code_in(inner) if isinstance(inner, dict) else 0


def is_answer(call: Call, code: int, output: str) -> bool:
    """Whether a code other than 0 says "no" or "cut short as asked" (grep without a hit, `timeout 5 tail -f`)."""
    command = call.command
    if failure_text.find_complaint(output, command):
        return False
    if shell.answers_with(command, code, is_silent=not output):
        return True
    is_partial = failure_text.is_permission_denied(output) or "2>/dev/null" in command
    return bool(output) and code in (1, 2) and is_partial and shell.only_reads(command)
