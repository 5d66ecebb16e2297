"""A tool call as the judge sees it: the tool's category, arguments under shared names, and exit codes that answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sojourn.core.messages import Json
from sojourn.templates import tool_names
from sojourn.templates.judge import failure_text
from sojourn.templates.judge import shell_command as shell

Arguments = Callable[[], Mapping[str, Json]]
EXIT_CODES = ("exit_code", "exitCode", "returncode", "return_code", "exit_status", "exitStatus")
_PAYLOAD = ("url", "urls", "headers", "json", "body", "data", "content", "params")


class CallView(NamedTuple):
    """One call. `category` is that of its tool, see `tool_names.tool_category`."""

    kind: str
    category: str
    arguments: Arguments  # parsed only when a rule needs them

    @property
    def command(self) -> str:
        """The command line or the code."""
        given = self.arguments()
        code = given.get("code") or tool_names.in_our_words(given).get("code")
        return tool_names.command_of(given) or str(code or "")

    @property
    def method(self) -> str:
        return str(self.arguments().get("method") or "").upper()

    @property
    def url(self) -> str:
        return str(self.arguments().get("url") or "")

    @property
    def about(self) -> str:
        """Everything but the payload: where a call says which status it expects."""
        return " ".join(str(value) for name, value in self.arguments().items() if name not in _PAYLOAD)[:4000]

    @property
    def writes(self) -> bool:
        """Whether the call changes something, so that a partial success is a failure."""
        if self.category != "ask":
            return self.category == "do"
        given = self.arguments()
        sent = str(given.get("json") or given.get("body") or given.get("data") or "")[:500]
        is_query = "query" in sent and "mutation" not in sent  # GraphQL reads by POST
        return self.method not in ("", "GET", "HEAD", "OPTIONS") and not is_query

    def accepts(self, status: int) -> bool:
        """Whether this HTTP status is an answer: any to a question for the status, a redirect to a write."""
        return self.method == "HEAD" or (status < 400 and self.writes)


def find_exit_code(found: Mapping[str, Json]) -> int:
    """The exit code in a JSON result; 0 if it has none."""
    for name in EXIT_CODES:
        if isinstance(value := found.get(name), int):
            return int(value)
    inner = found.get("metadata")
    return find_exit_code(inner) if isinstance(inner, dict) else 0


def is_exit_answer(call: CallView, code: int, output: str) -> bool:
    """Whether a code other than 0 says "no" or "cut short as asked" (grep without a hit, `timeout 5 tail -f`)."""
    command = call.command
    if failure_text.find_complaint(output, command):
        return False
    if shell.answers_with(command, code, is_silent=not output):
        return True
    is_partial = failure_text.DENIED.search(failure_text.cut_middle(output)) or "2>/dev/null" in command
    return bool(output) and code in (1, 2) and is_partial and shell.only_reads(command)
