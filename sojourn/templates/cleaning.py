"""What a template may keep: no secrets, no personal paths, no endless results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.messages import Json
from sojourn.core.redact import redact
from sojourn.templates.values import ToolCallExample

RESULT_CHARS = 2000
# A person's folder, on any system: what stands before it is nobody's business.
_HOME = re.compile(
    r"(?<![\w~])(?:/(?:home|Users)/[^/\s\"'\\:<>|]+|/root(?=[/\s\"']|$)"
    r"|[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"'/]+)"
)


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Makes an example fit to be kept."""

    result_chars: int = RESULT_CHARS

    def example(self, example: ToolCallExample) -> ToolCallExample:
        return ToolCallExample(
            example.tool_name, self.arguments(example.arguments), self.text(example.result), example.success
        )

    def text(self, text: str) -> str:
        return trimmed(_HOME.sub("~", redact(text)), self.result_chars)

    def arguments(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Blacked out as one JSON text, because a secret is often known by the name before it."""
        found: Json = json.loads(redact(json.dumps(dict(arguments), ensure_ascii=False)))
        return {name: self._value(value) for name, value in found.items()}

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return trimmed(_HOME.sub("~", value), self.result_chars)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {name: self._value(one) for name, one in value.items()}
        return value


def trimmed(text: str, most: int) -> str:
    """The beginning and the end of a long text, with a marker that says how much is missing."""
    if len(text) <= most:
        return text
    head, tail = most * 7 // 10, most * 2 // 10
    return f"{text[:head]}\n… [{len(text) - head - tail:,} characters left out] …\n{text[len(text) - tail :]}"
