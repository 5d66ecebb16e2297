"""CliContext: what the command line gives to the commands that plugins bring."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:  # a command that only prints its help needs none of the ports
    from sojourn.core.settings import Settings
    from sojourn.ports.app import AppContext

T = TypeVar("T")


class CliContext(Protocol):
    """The object in click's context; a command takes it with `@click.pass_obj`."""

    flags: dict[str, Any]  # settings given as flags, by name; they beat the environment and the file
    json: bool  # print JSON, for scripts
    no_color: bool

    @property
    def app(self) -> AppContext:
        """The application of this run, built on first use from the flags."""

    @property
    def settings(self) -> Settings:
        """The settings of this run, without building the application."""

    @property
    def is_interactive(self) -> bool:
        """Whether a person can answer questions: a terminal on both sides and no `--json`."""

    def run(self, work: Callable[[AppContext], Coroutine[Any, Any, T]]) -> T:
        """Runs the coroutine `work(app)` to its end, then closes the application."""

    def confirm(self, question: str, *, yes: bool) -> None:
        """Asks `question` and ends the command on a no. `yes`: the person agreed in advance (`--yes`)."""
