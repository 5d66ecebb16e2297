"""What the command line gives to the commands of this package, and the option they all have."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import click

from sojourn.ports.app import AppContext

as_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


class Given(Protocol):
    """What the command line puts into click's context."""

    json: bool

    @property
    def kit(self) -> AppContext: ...
    def run(self, work: Callable[[AppContext], Coroutine[Any, Any, Any]]) -> Any: ...
    def insist(self, question: str, *, yes: bool) -> None: ...
