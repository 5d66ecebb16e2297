"""One name in or out of `plugins.enabled` of a YAML file, with everything else left as it stands.

A YAML library would drop the person's comments. This edits the few ways people write such a list, line by
line, and refuses what it does not recognise.
"""

from __future__ import annotations

import re

from sojourn.core.errors import BadInput

_TOP = re.compile(r"plugins:\s*(#.*)?$")
_ITEM = re.compile(r"(\s*)-\s+[\"']?([^\"'#\s]+)[\"']?\s*(#.*)?$")
_FLOW = re.compile(r"(\s+\w+:\s*)\[([^\[\]]*)\](\s*(?:#.*)?)$")


def enable(text: str, name: str) -> str:
    """The text with the name in `plugins.enabled`."""
    lines = _lines(text)
    block = _block(lines)
    if block is None:
        if any(re.match(r"plugins\s*:", line) for line in lines):
            raise _by_hand(name)
        gap = [""] if lines and lines[-1].strip() else []
        return _text([*lines, *gap, "plugins:", "  enabled:", f"    - {name}"], text)
    at = _key(lines, block, "enabled")
    if at is None:
        lines[block[0] : block[0]] = ["  enabled:", f"    - {name}"]
        return _text(lines, text)
    if name in _names(lines, at, block[1]):
        return text
    flow = _FLOW.match(lines[at])
    if flow is not None:
        inside = ", ".join([*filter(None, [flow[2].strip().rstrip(",")]), name])
        lines[at] = f"{flow[1]}[{inside}]{flow[3]}"
    elif re.match(r"\s+enabled:\s*(#.*)?$", lines[at]):
        first = _ITEM.match(lines[at + 1]) if at + 1 < block[1] else None
        indent = first[1] if first is not None else _indent(lines[at]) + "  "
        lines.insert(at + 1, f"{indent}- {name}")
    else:
        raise _by_hand(name)
    return _text(lines, text)


def forget_enabled(text: str, name: str) -> str:
    """The text without the name in `plugins.enabled`."""
    lines = _lines(text)
    block = _block(lines)
    at = _key(lines, block, "enabled") if block is not None else None
    if block is None or at is None:
        return text
    flow = _FLOW.match(lines[at])
    if flow is not None:
        left = [one.strip() for one in flow[2].split(",") if one.strip() and one.strip().strip("\"'") != name]
        lines[at] = f"{flow[1]}[{', '.join(left)}]{flow[3]}"
    else:
        for number in range(at + 1, block[1]):
            item = _ITEM.match(lines[number])
            if item is not None and item[2] == name:
                del lines[number]
                break
    return _text(lines, text)


def disabled_in(text: str, name: str) -> bool:
    lines = _lines(text)
    block = _block(lines)
    at = _key(lines, block, "disabled") if block is not None else None
    return block is not None and at is not None and name in _names(lines, at, block[1])


def _lines(text: str) -> list[str]:
    """Only line feeds end a line, with a carriage return or without; other breaks may stand in comments and texts."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _text(lines: list[str], before: str) -> str:
    """The lines with the line ends of the text they were taken from."""
    end = "\r\n" if "\r\n" in before else "\n"
    return end.join(lines) + end


def _block(lines: list[str]) -> tuple[int, int] | None:
    """The lines under the top-level key `plugins`: first, and one past the last."""
    for number, line in enumerate(lines):
        if _TOP.match(line):
            end = number + 1
            while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t#-"):
                end += 1
            return number + 1, end
    return None


def _key(lines: list[str], block: tuple[int, int], key: str) -> int | None:
    found = (number for number in range(*block) if re.match(rf"\s+{key}:", lines[number]))
    return next(found, None)


def _names(lines: list[str], at: int, end: int) -> list[str]:
    flow = _FLOW.match(lines[at])
    if flow is not None:
        return [one.strip().strip("\"'") for one in flow[2].split(",")]
    names = []
    for line in lines[at + 1 : end]:
        item = _ITEM.match(line)
        if item is None:
            if line.strip() and not line.strip().startswith("#"):
                break
            continue
        names.append(item[2])
    return names


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _by_hand(name: str) -> BadInput:
    return BadInput(
        "The `plugins` part of config.yaml is written in a way we do not edit.",
        hint=f"Add {name} to plugins.enabled yourself, then install again.",
    )
