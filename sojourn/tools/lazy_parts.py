"""Parts of tools that load large libraries: a turn imports them when it calls the tool.

`html_text` loads an HTML converter, `search_worker` pathspec, `danger` the shell grammar, `mcp` the MCP client.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.lazy import Lazy

if TYPE_CHECKING:
    from sojourn.tools.danger.rules import describe_command, find_code_dangers  # noqa: F401
    from sojourn.tools.html_text import html_to_text  # noqa: F401
    from sojourn.tools.mcp.hub import McpHub
    from sojourn.tools.search_worker import ALWAYS_IGNORED, check_pattern, format_line  # noqa: F401

DESCRIBE_COMMAND: Lazy[Callable[[str], list[str]]] = Lazy("sojourn.tools.danger.rules:describe_command")
FIND_CODE_DANGERS: Lazy[Callable[[str], list[str]]] = Lazy("sojourn.tools.danger.rules:find_code_dangers")
HTML_TO_TEXT: Lazy[Callable[[str, str], str]] = Lazy("sojourn.tools.html_text:html_to_text")
MCP_HUB: Lazy[type[McpHub]] = Lazy("sojourn.tools.mcp.hub:McpHub")
CHECK_PATTERN: Lazy[Callable[[str, str], None]] = Lazy("sojourn.tools.search_worker:check_pattern")
FORMAT_LINE: Lazy[Callable[[str, str, str], str]] = Lazy("sojourn.tools.search_worker:format_line")
IGNORED_FOLDERS: Lazy[frozenset[str]] = Lazy("sojourn.tools.search_worker:ALWAYS_IGNORED")
