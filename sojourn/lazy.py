"""Lazy: an object that is imported when it is used.

The command table (`cli/command_table.py`) and the plugin registry (`plugins.py`) hold lazies, and packages that load a
heavy module of their own on use (tests/unit/test_imports.py lists them). Each imports the same module under
`TYPE_CHECKING`, so that mypy and import-linter see the dependency.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Lazy(NamedTuple, Generic[T]):
    """The object of type `T` that the dotted name `package.module:attribute` stands for."""

    dotted: str

    def load(self) -> T:
        """Imports the module, once per process, and returns the attribute."""
        found: T = load_dotted(self.dotted)
        return found


def load_dotted(dotted: str) -> Any:
    """Imports what `package.module:attribute` (or `package.module`) stands for."""
    module, _, attribute = dotted.partition(":")
    found: Any = import_module(module)
    for name in attribute.split(".") if attribute else ():
        found = getattr(found, name)
    return found


def dotted_name(part: object) -> str:
    """The dotted name of an object, for lists and error texts; a text is one already."""
    if isinstance(part, str):
        return part
    kind: Any = part if hasattr(part, "__qualname__") else getattr(part, "callback", None) or type(part)
    return f"{kind.__module__}:{kind.__qualname__}"
