"""Connects the command line with the application and runs one command."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn import app, config
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.plugins import Registry


def run(args: Sequence[str]) -> int:
    """Runs the command that `args` names and returns its exit code."""
    return start(args, CommandContext(build=app.build, read_settings=config.load, plugins=Registry()))
