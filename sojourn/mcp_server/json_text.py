"""JSON with comments as a text: one member is put in or taken out, and every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json

MAX_DEPTH = 100  # of nested values
_BLANK = re.compile(r"(?:[\s\ufeff]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")


@dataclass(slots=True)
class Node:
    """A value with its place in the text. Of an object also its members, and where each key begins."""

    start: int
    end: int = 0
    value: Json = None
    members: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    commas: dict[str, int] = field(default_factory=dict)  # where the comma behind a member is
    inner_end: int = 0  # behind the last member, comma or comment


def parse_json_text(text: str) -> Node:
    """Reads JSON in which comments and a last comma are allowed. BadInput."""
    reader = _Reader(text)
    node = reader.read(reader.skip(0), 0)
    if (end := reader.skip(node.end)) != len(text):
        raise reader.fail(end)
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def fail(self, at: int) -> BadInput:
        line = self._text.count("\n", 0, at) + 1
        return BadInput(f"Line {line} is not JSON.", hint="Correct it by hand; nothing was changed.")

    def skip(self, at: int) -> int:
        """Behind blanks and comments."""
        found = _BLANK.match(self._text, at)
        return found.end() if found else at

    def read(self, at: int, depth: int) -> Node:
        first = self._text[at : at + 1]
        if depth > MAX_DEPTH:
            raise self.fail(at)
        if first == "{":
            return self._read_object(at, depth)
        if first == "[":
            return self._read_array(at, depth)
        found = (_STRING if first == '"' else _SCALAR).match(self._text, at)
        if found is None:
            raise self.fail(at)
        try:
            return Node(at, found.end(), json.loads(found[0]))
        except ValueError:
            raise self.fail(at) from None

    def _read_object(self, start: int, depth: int) -> Node:
        node, at = Node(start, value={}), self.skip(start + 1)
        while self._text[at : at + 1] != "}":
            key_node = self.read(at, depth + 1)
            key, colon = key_node.value, self.skip(key_node.end)
            if not isinstance(key, str) or key in node.members or self._text[colon : colon + 1] != ":":
                raise self.fail(at)
            member = self.read(self.skip(colon + 1), depth + 1)
            node.members[key], node.keys[key], node.value[key] = member, at, member.value
            at = self.skip(member.end)
            if self._text[at : at + 1] == ",":
                node.commas[key] = at
                at = self.skip(at + 1)
            elif self._text[at : at + 1] != "}":
                raise self.fail(at)
        inside = self._text[start + 1 : at]
        node.inner_end, node.end = start + 1 + len(inside.rstrip()), at + 1
        return node

    def _read_array(self, start: int, depth: int) -> Node:
        values, at = list[Json](), self.skip(start + 1)
        while self._text[at : at + 1] != "]":
            item = self.read(at, depth + 1)
            values.append(item.value)
            at = self.skip(item.end)
            if self._text[at : at + 1] == ",":
                at = self.skip(at + 1)
            elif self._text[at : at + 1] != "]":
                raise self.fail(at)
        return Node(start, at + 1, values)


def put_member(text: str, path: Sequence[str], value: Json) -> str:
    """The text with a member at a path of keys, put in last or in place of the old one."""
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    *parents, name = path
    node = _require_object(parse_json_text(text))
    for depth, key in enumerate(parents):
        if key not in node.members:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _insert_member(text, node, key, value)
        node = _require_object(node.members[key])
    if name in node.members:
        old = node.members[name]
        return text[: old.start] + _render(text, value, _indent_of(text, node.keys[name])) + text[old.end :]
    return _insert_member(text, node, name, value)


def remove_member(text: str, path: Sequence[str]) -> str:
    """The text without a member, and without the object that held nothing else; the same text if it is not there."""
    node, parents = parse_json_text(text), list[tuple[Node, str]]()
    for key in path[:-1]:
        if key not in node.members:
            return text
        parents.append((node, key))
        node = node.members[key]
    name = path[-1]
    if name not in node.members:
        return text
    while parents and _holds_nothing_else(text, node, name):
        node, name = parents.pop()
    return _cut_member(text, node, name)


def _holds_nothing_else(text: str, node: Node, name: str) -> bool:
    """Whether an object has no other member, and no comment."""
    around = text[node.start + 1 : node.keys[name]] + text[node.members[name].end : node.end - 1]
    return len(node.members) == 1 and not around.strip(" \t\r\n,")


def _cut_member(text: str, node: Node, name: str) -> str:
    names, end = list(node.members), node.members[name].end
    start = len(text[: node.keys[name]].rstrip())
    if name in node.commas:
        return text[:start] + text[end : node.commas[name]] + text[node.commas[name] + 1 :]
    if name == names[0]:
        return text[:start] + text[end:]
    comma = node.commas[names[names.index(name) - 1]]
    return text[:comma] + text[comma + 1 : start] + text[end:]


def _insert_member(text: str, node: Node, name: str, value: Json) -> str:
    names, newline = list(node.members), "\r\n" if "\r\n" in text else "\n"
    last = names[-1] if names else ""
    is_inline = bool(names) and "\n" not in text[node.start : node.keys[names[0]]]
    outer = _indent_of(text, node.start)
    indent = _indent_of(text, node.keys[names[0]]) if names else outer + _unit_of(text)
    lead = " " if is_inline else newline + indent
    member = f"{lead}{json.dumps(name)}: {_render(text, value, None if is_inline else indent)}"
    has_last_comma = last in node.commas
    head = (
        text[: node.inner_end]
        if has_last_comma or not names
        else (text[: node.members[last].end] + "," + text[node.members[last].end : node.inner_end])
    )
    tail = text[node.inner_end : node.end - 1]
    if not is_inline and "\n" not in tail:
        tail = newline + outer
    return head + member + ("," if has_last_comma else "") + tail + text[node.end - 1 :]


def _render(text: str, value: Json, indent: str | None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    return json.dumps(value, ensure_ascii=False, indent=_unit_of(text)).replace("\n", newline + indent)


def _indent_of(text: str, at: int) -> str:
    """The blanks at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit_of(text: str) -> str:
    """By how much this text indents: as far as its first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _require_object(node: Node) -> Node:
    if not isinstance(node.value, dict):
        raise BadInput("The configuration is not an object where one belongs.", hint="Correct it by hand.")
    return node
