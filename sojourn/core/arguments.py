"""What a tool may be called with: its JSON Schema from a function's hints, and the check of a call against one.

Models write arguments, so the check is kind where the meaning is clear ("5" for a number, a missing optional
that came as null) and names every problem in words a model can act on. Only the part of JSON Schema that tools
use is known; what else a foreign schema demands is left to whoever wrote it.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sojourn.core.messages import Json

_PLAIN: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    list: {"type": "array"},
    Any: {},
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_LINE = re.compile(r"([A-Za-z_]\w*):\s+(.+)")
_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def described(function: Callable[..., Any]) -> tuple[str, dict[str, Json]]:
    """A function's docstring without the lines about its parameters (`path: where it is`), and its JSON Schema.
    The first parameter is the workspace and not part of it."""
    signature = inspect.signature(function)
    hints = get_type_hints(function)
    names = list(signature.parameters)[1:]
    about, meanings = _docstring(inspect.getdoc(function) or "", names)
    properties: dict[str, Json] = {}
    for name in names:
        properties[name] = dict(_schema(hints.get(name, str)))
        if name in meanings:
            properties[name]["description"] = meanings[name]
        default = signature.parameters[name].default
        if default is not inspect.Parameter.empty and default not in (None, ""):
            properties[name]["default"] = default
    required = [name for name in names if signature.parameters[name].default is inspect.Parameter.empty]
    return about, {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _docstring(doc: str, names: list[str]) -> tuple[str, dict[str, str]]:
    about: list[str] = []
    meanings: dict[str, str] = {}
    current = ""
    for line in doc.split("\n"):
        hit = _LINE.fullmatch(line.strip())
        if hit and hit[1] in names:
            current = hit[1]
            meanings[current] = hit[2]
        elif current and line.startswith(" "):
            meanings[current] += " " + line.strip()
        else:
            current = ""
            about.append(line)
    return "\n".join(about).strip(), meanings


def _schema(hint: Any) -> Mapping[str, Json]:
    if hint in _PLAIN:
        return _PLAIN[hint]  # type: ignore[no-any-return]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (Union, types.UnionType):
        rest = [one for one in inside if one is not type(None)]
        return _schema(rest[0]) if len(rest) == 1 else {"anyOf": [dict(_schema(one)) for one in rest]}
    if origin in (list, tuple):
        return {"type": "array", "items": dict(_schema(inside[0]))}
    if origin is dict:
        return {"type": "object"}
    raise TypeError(f"A tool cannot take a parameter of type {hint!r}.")


def check(schema: Mapping[str, Json], given: Json) -> tuple[dict[str, Json], list[str]]:
    """The arguments in their types, and what is wrong with them; they are good when nothing is."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return {}, ["The arguments are not valid JSON."]
    if not isinstance(given, Mapping):
        return {}, ["The arguments must be a JSON object."]
    problems: list[str] = []
    made = _object(schema, given, "", problems)
    return made, problems


def _object(schema: Mapping[str, Json], given: Mapping[str, Json], where: str, problems: list[str]) -> dict[str, Json]:
    properties: Mapping[str, Json] = schema.get("properties") or {}
    required = schema.get("required") or ()
    made: dict[str, Json] = {}
    for name, value in given.items():
        if name not in properties:
            if schema.get("additionalProperties") is False:
                known = ", ".join(properties) or "none"
                problems.append(f"There is no argument `{where}{str(name)[:80]}`. There are: {known}.")
            made[name] = value
        elif value is not None or name in required:
            made[name] = _value(properties[name], value, f"{where}{name}", problems)
    problems += [f"`{where}{name}` is missing." for name in required if name not in given]
    return made


def _value(schema: Json, value: Json, where: str, problems: list[str]) -> Json:
    if isinstance(value, str) and _UNSAFE.search(value):
        problems.append(f"`{where}` holds a NUL or a broken character.")
        return value
    if not isinstance(schema, Mapping):
        return value
    kinds = schema.get("type")
    allowed: list[str] = [kinds] if isinstance(kinds, str) else list(kinds or ())
    if allowed:
        fitting, value = _fit(allowed, value)
        if not fitting:
            problems.append(f"`{where}` must be {' or '.join(_WORDS.get(one, one) for one in allowed)}.")
            return value
    if "enum" in schema and value not in schema["enum"]:
        problems.append(f"`{where}` must be one of {', '.join(map(str, schema['enum']))}.")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            problems.append(f"`{where}` must be at least {schema['minimum']}.")
        if "maximum" in schema and value > schema["maximum"]:
            problems.append(f"`{where}` must be at most {schema['maximum']}.")
    if isinstance(value, list):
        inner = schema.get("items")
        return [_value(inner, one, f"{where}[{number}]", problems) for number, one in enumerate(value)]
    if isinstance(value, Mapping) and schema.get("properties"):
        return _object(schema, value, f"{where}.", problems)
    return value


def _fit(allowed: list[str], value: Json) -> tuple[bool, Json]:
    """Whether a value is of one of these types, and the value as that type."""
    if any(_is(kind, value) for kind in allowed):
        return True, int(value) if isinstance(value, float) and "number" not in allowed else value
    if isinstance(value, str):
        for kind in ("integer", "number", "boolean", "array", "object"):
            if kind in allowed:
                try:
                    meant = json.loads(value.strip().lower() if kind == "boolean" else value)
                except (ValueError, RecursionError):
                    continue
                if _is(kind, meant):
                    return True, meant
    elif "string" in allowed and isinstance(value, (int, float)) and not isinstance(value, bool):
        return True, str(value)
    return False, value


def _is(kind: str, value: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) or (isinstance(value, float) and value.is_integer()),
        "number": isinstance(value, (int, float)),
        "array": isinstance(value, list),
        "object": isinstance(value, Mapping),
        "null": value is None,
    }.get(kind, kind not in _WORDS)
