"""What was asked of a tool, in words that are the same for every program. Most verdicts need little of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sojourn.core.messages import Json
from sojourn.templates import shells, tool_names

Arguments = Callable[[], Mapping[str, Json]]
_SENT = ("url", "urls", "headers", "json", "body", "data", "content", "params")  # what is sent says nothing of the call
_PROGRAM = ("command", "cmd", "code", "script", "source", "method")


class Call(NamedTuple):
    """A call: its tool's kind and manner, and its arguments in the words of the program that called."""

    kind: str
    manner: str
    given: Arguments

    @property
    def command(self) -> str:
        """The command line or the code."""
        given = self.given()
        return shells.command_of(
            tool_names.command_in(given) or given.get("code") or tool_names.in_our_words(given).get("code")
        )

    @property
    def is_code(self) -> bool:
        return self.kind == "execute_code"

    @property
    def method(self) -> str:
        return str(self.given().get("method") or "").upper()

    @property
    def has_limit(self) -> bool:
        """Whether the caller set how long it may take."""
        given = self.given()
        return any(given.get(name) for name in ("timeout", "timeout_ms", "timeout_seconds", "max_time"))

    @property
    def url(self) -> str:
        given = self.given()
        return str(given.get("url") or "")

    @property
    def about(self) -> str:
        """What the call says of itself."""
        told = [str(value) for name, value in self.given().items() if name not in _SENT]
        return " ".join(told)[:4000]

    @property
    def purpose(self) -> str:
        """What the call says that it is for."""
        told = [str(value) for name, value in self.given().items() if name not in (*_SENT, *_PROGRAM)]
        return " ".join(told)[:1000]

    @property
    def writes(self) -> bool:
        """Whether a server is to do something, not only to tell."""
        if self.manner != "ask":
            return self.manner == "do"
        return self.method not in ("", "GET", "HEAD", "OPTIONS") and not self._is_query()

    def _is_query(self) -> bool:
        given = self.given()
        sent = str(given.get("json") or given.get("body") or given.get("data") or "")[:500]
        return "query" in sent and "mutation" not in sent
