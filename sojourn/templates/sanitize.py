"""Sanitizing: removes secrets, personal paths and the middle of long results before a template is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sojourn.core.messages import Json
from sojourn.templates.model import SessionTemplate, ToolCallExample
from sojourn.text.redaction import redact

RESULT_CHARS = 2000
# A person's folder, on any system: what stands before it is nobody's business. Elsewhere `home` is like any folder.
_HOME = re.compile(
    # where a path begins: also right after `-I`, and after the n of a line break that is escaped, as in JSON
    r"(?:(?<![\w~])|(?<=\\[nrt])|(?<=[\s\"'=]-[A-Za-z])|(?<=^-[A-Za-z]))"
    r"(?:(?:(?:/(?:var|usr|export))?/home|(?:/System/Volumes/Data|(?:/mnt|/cygdrive)?/[a-z])?/Users)"
    r"/[^/\s\"'\\:<>|,;()]+"
    r"|/root(?=[/\s\"':,;)\\]|$)"
    r"|[A-Za-z]:[\\/]{1,4}Users[\\/]{1,4}(?:[^\\/:*?\"'<>|\r\n]{1,40}(?=[\\/])|[^\\\s\"'/,;()]+))"
)


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Removes from templates what must not be stored."""

    result_chars: int = RESULT_CHARS

    def template(self, template: SessionTemplate) -> SessionTemplate:
        """Somebody else's template, or one that was edited, as one of ours would be kept."""
        examples = [self.example(one) for one in template.examples]
        return replace(template, examples=examples, description=self.text(template.description))

    def example(self, example: ToolCallExample) -> ToolCallExample:
        return replace(example, arguments=self.arguments(example.arguments), result=self.text(example.result))

    def text(self, text: str) -> str:
        return trim_middle(_HOME.sub("~", redact(text)), self.result_chars)

    def arguments(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Blacked out as one JSON text, because a secret is often known by the name before it."""
        cleaned: dict[str, Json] = self._value(json.loads(redact(json.dumps(dict(arguments), ensure_ascii=False))))
        return cleaned

    def _value(self, value: Json) -> Json:
        if isinstance(value, str):
            return trim_middle(_HOME.sub("~", value), self.result_chars)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {_HOME.sub("~", name): self._value(one) for name, one in value.items()}
        return value


def trim_middle(text: str, most: int) -> str:
    """The beginning and the end of a long text, with a marker that says how much is missing."""
    if len(text) <= most:
        return text
    head, tail = most * 7 // 10, most * 2 // 10
    return f"{text[:head]}\n… [{len(text) - head - tail:,} characters left out] …\n{text[len(text) - tail :]}"
