"""A tool call as the judge sees it: the tool's category, and the arguments under names that all programs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sojourn.core.messages import Json
from sojourn.templates import tool_names

Arguments = Callable[[], Mapping[str, Json]]
_PAYLOAD = ("url", "urls", "headers", "json", "body", "data", "content", "params")
_PROGRAM = ("command", "cmd", "code", "script", "source", "method")


class Call(NamedTuple):
    """One call. `category` is that of its tool, see `tools.tool_category`."""

    kind: str
    category: str
    arguments: Arguments  # parsed only when a rule needs them

    @property
    def command(self) -> str:
        """The command line or the code."""
        given = self.arguments()
        return tool_names.command_of(given) or str(
            given.get("code") or tool_names.in_our_words(given).get("code") or ""
        )

    @property
    def method(self) -> str:
        return str(self.arguments().get("method") or "").upper()

    @property
    def url(self) -> str:
        return str(self.arguments().get("url") or "")

    @property
    def about(self) -> str:
        """Everything but the payload: where a call says which status it expects."""
        return self._join_all_but(_PAYLOAD)

    @property
    def purpose(self) -> str:
        """The arguments that describe the call, without payload and program."""
        return self._join_all_but(_PAYLOAD + _PROGRAM)

    @property
    def writes(self) -> bool:
        """Whether the call changes something, so that a partial success is a failure."""
        if self.category != "ask":
            return self.category == "do"
        given = self.arguments()
        sent = str(given.get("json") or given.get("body") or given.get("data") or "")[:500]
        is_query = "query" in sent and "mutation" not in sent  # GraphQL reads by POST
        return self.method not in ("", "GET", "HEAD", "OPTIONS") and not is_query

    def _join_all_but(self, names: tuple[str, ...]) -> str:
        return " ".join(str(value) for name, value in self.arguments().items() if name not in names)[:4000]
