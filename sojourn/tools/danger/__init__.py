"""Dangerous commands and Python code: what the approval question warns about, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.lazy import Lazy

if TYPE_CHECKING:
    from sojourn.tools.danger.rules import find_code_dangers, find_dangers  # noqa: F401

# The rules load the shell grammar, which only a turn that runs a command needs.
FIND_DANGERS: Lazy[Callable[[str], list[str]]] = Lazy("sojourn.tools.danger.rules:find_dangers")
FIND_CODE_DANGERS: Lazy[Callable[[str], list[str]]] = Lazy("sojourn.tools.danger.rules:find_code_dangers")
