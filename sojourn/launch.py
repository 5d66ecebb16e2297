"""Connects the command line with the application and runs one command."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn import config
from sojourn.cli.context import CommandContext
from sojourn.cli.entry import start
from sojourn.lazy import Lazy
from sojourn.plugins import Registry
from sojourn.root_logger import set_up_root_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from sojourn.app import App, build

    Build = Callable[[Mapping[str, Any]], App]
    _build: Build = build

_COLLECTOR_THRESHOLDS = 200_000, 20, 20  # new objects, young and middle-aged rounds: importing makes objects that stay
BUILD: Lazy[Build] = Lazy("sojourn.app:build")  # `sojourn --help` builds no application


def run(args: Sequence[str]) -> int:
    """Runs the command that `args` names and returns its exit code."""
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    context = CommandContext(build=lambda flags: BUILD.load()(flags), read_settings=config.load, plugins=Registry())
    set_up_root_logger(lambda: config.find_home(context.flags))
    return start(args, context)
