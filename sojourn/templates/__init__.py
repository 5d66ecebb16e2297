"""Session templates: calls that worked before, ready for the next session.

The names below are for everybody. They are loaded when they are asked for: the program passes through this file
for every command, and its workers for every scan.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
    from sojourn.templates.session_templates import SessionTemplates

__all__ = ["SessionTemplate", "SessionTemplates", "TaskType", "ToolCallExample"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'session_templates' if name == 'SessionTemplates' else 'model'}"), name)
