"""Refusals of chat networks: those we know before sending, and those that end a connection."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sojourn.core.errors import PlatformDown, SendRefused
from sojourn.ports.platform import PlatformInfo

logger = logging.getLogger(__name__)


def check_length(text: str, info: PlatformInfo) -> None:
    """SendRefused if a text is too long for one message."""
    length = len(text)
    if info.counting != "characters":
        length = len(text.encode()) if info.counting == "bytes" else len(text.encode("utf-16-le", "surrogatepass")) // 2
    if length > info.max_chars:
        units = "UTF-16 units" if info.counting == "utf16" else info.counting
        raise SendRefused(f"{length:,} {units} are too many for one message.", kind="too_long")


def raise_if_passing(error: SendRefused, what: str) -> None:
    """Raises a refusal that passes: the network tells the message again. Another one would come back for ever, so what
    cannot be read is logged and left out."""
    if error.kind in ("rate_limited", "transient"):
        raise error
    logger.warning("%s cannot be read: %s", what, error)


@asynccontextmanager
async def refusals_as_outage() -> AsyncGenerator[None, None]:
    """Raises PlatformDown for a refusal: while listening, it means that the connection is down."""
    try:
        yield
    except SendRefused as error:
        raise PlatformDown(str(error), hint=error.hint) from error
