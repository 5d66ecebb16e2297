"""Changes one key of a TOML text and leaves every other line alone."""

from __future__ import annotations

import json
import re
import tomllib

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Setting


def set_key(text: str, setting: Setting, value: str) -> str:
    """The text with that setting in it; what cannot be changed safely is refused."""
    table, _, key = setting.name.rpartition(".")
    line = f"{key} = {_to_literal(setting, value)}"
    lines = text.splitlines()
    start, end = _find_section(lines, table)
    if start is None:
        lines += [*([""] if lines else []), f"[{table}]", line]
    else:
        at = next((n for n in range(start, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[n])), None)
        if at is None:
            lines.insert(_skip_blank_lines(lines, start, end), line)
        else:
            lines[at] = line + _comment_of(lines[at])
    new = "\n".join(lines) + "\n"
    _validate(new, setting)
    return new


def _find_section(lines: list[str], table: str) -> tuple[int | None, int]:
    """Where a table's keys begin and end; the top has no header."""
    heads = [n for n, line in enumerate(lines) if re.match(r"\s*\[", line)]
    if not table:
        return 0, heads[0] if heads else len(lines)
    for head in heads:
        if re.match(rf"\s*\[\s*{re.escape(table)}\s*\]", lines[head]):
            return head + 1, next((n for n in heads if n > head), len(lines))
    return None, 0


def _skip_blank_lines(lines: list[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _comment_of(line: str) -> str:
    """The remark behind a plain value, which is worth keeping."""
    hit = re.search(r"""=\s*(?:"[^"\\]*"|'[^']*'|[^\s"'#]+)(\s*#.*)$""", line)
    return hit[1] if hit else ""


def _to_literal(setting: Setting, value: str) -> str:
    word = value.strip().lower()
    if setting.kind == "yes/no" and word in ("true", "yes", "on", "1", "false", "no", "off", "0"):
        return "true" if word in ("true", "yes", "on", "1") else "false"
    if setting.kind == "number" and re.fullmatch(r"\d+", word):
        return word
    return json.dumps(value, ensure_ascii=False)


def _validate(text: str, setting: Setting) -> None:
    """A text we made must be TOML; one that was odd before is for a person to edit."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(
            f"config.toml cannot be changed without breaking it: {error}.",
            hint=f"Set {setting.name} there by hand: `sojourn config path`.",
        ) from error
