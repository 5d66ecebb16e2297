"""Takes the output of a program out of the lines that an agent puts around it.

Agents state how a run ended above the output (`Exit code: 1`, `<returncode>5</returncode>`), below it
(`[The command completed with exit code 1.]`, `Exit Code: 1`, `<bash_metadata>…`), or not at all.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sojourn.templates.judge.phrases import TABLES, compile_chapter

_I = re.IGNORECASE
_WRAPPER = compile_chapter("wrapper", _I | re.MULTILINE)
_CODE, _KEYS, _LABEL = (TABLES["wrapper"][name] for name in ("code", "keys", "label"))
_EXIT_CODE = re.compile(_CODE, _I)
_KEY_LINES = rf"\s*(?:(?:{_KEYS})[^\n]{{0,300}}\n){{0,5}}?"
_HEAD = re.compile(rf"{_KEY_LINES}[<(\[*]?{_CODE}[^\n]*(?:\n(?:{_KEYS})[^\n]*)*", _I)
_ABOVE = re.compile(rf"{_KEY_LINES}{_LABEL}[ \t]*(?:\n+```\w*)?\n?", _I)
_BELOW = re.compile(rf"(?:(?:\A|\n)(?:{_WRAPPER['notice'].pattern})?[ \t\r]*(?=\n|\Z))+\Z", _I)
_SILENT = re.compile(r"\s*\(?(?:\w+ ){0,5}(?:no (?:output|content)|empty)\)?\.?\s*", _I)
_HEAD_CHARACTERS, _TAIL_CHARACTERS = 600, 1200


class ProgramRun(NamedTuple):
    """How a run ended. `code` is None if the agent does not show it, `stopped` is its notice that it ended the run."""

    code: int | None
    stopped: str
    output: str


def unwrap(text: str) -> ProgramRun:
    """The exit code, the stop notice and the output in a result."""
    below = _BELOW.search(text, max(0, len(text) - _TAIL_CHARACTERS))
    output, notices = (text[: below.start()], below[0]) if below and below[0].strip() else (text, "")
    code = _HEAD.match(output, 0, _HEAD_CHARACTERS)
    output = output[code.end() :] if code else output
    if above := _ABOVE.match(output, 0, _HEAD_CHARACTERS):
        output = output[above.end() :]
    code = code or _EXIT_CODE.search(notices)
    stopped = _WRAPPER["stopped"].search(notices)
    output = "" if len(output) <= 80 and _SILENT.fullmatch(output) else output
    return ProgramRun(int(code[1]) if code else None, stopped[0].strip() if stopped else "", output)
