"""Import of the agent library and of a provider's SDK, without what both would import on the chance that it is used."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_UNUSED = ("httpx._main", "openai._vendor.httpx_aiohttp")  # a command line, and a second HTTP client: both optional


@contextmanager
def import_lean() -> Iterator[None]:
    """While this is entered, the optional modules are as if they were not installed, and the collector rests: what
    modules make stays, so looking at it again and again finds nothing."""
    left_out = [name for name in _UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(left_out))  # type: ignore[arg-type]  # None: the import raises ImportError
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        for name in left_out:
            sys.modules.pop(name, None)
        gc.freeze()
        if was_enabled:
            gc.enable()
