"""What can be set under [plugins.api_server]."""

from __future__ import annotations

from dataclasses import dataclass

NAME = "api_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    """From [plugins.api_server] and SOJOURN_API_SERVER_…; that it is there at all lets the gateway serve it."""

    longest_wait: float = 300.0  # seconds for which a program may wait for an answer in one call
