"""`@tool`: makes a Tool of a function, derives its JSON Schema and validates the arguments of its calls.

Models write arguments, so validation converts where the meaning is clear ("5" for a number, null for a missing
optional) and describes every problem in words a model can act on. Only the part of JSON Schema that tools use is
checked; the MCP server that sent a foreign schema checks the rest.
"""

from __future__ import annotations

import inspect
import json
import re
import types
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.core.provenance import Origin
from sojourn.ports.tool import Asks, Effect, Question, Tool, ToolResult, Workspace

_SCHEMAS: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    list: {"type": "array"},
    Any: {},
}
_TYPE_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_PARAMETER_LINE = re.compile(r"([A-Za-z_]\w*):\s+(.+)")
_UNSAFE_CHARACTERS = re.compile("[\x00\ud800-\udfff]")


def tool(
    *,
    effect: Effect = "reads",
    asks_first: bool = False,
    asks: Asks | None = None,
    guests: bool = False,
    name: str = "",
    origins: tuple[Origin, ...] = ("foreign",),
) -> Callable[[Callable[..., Awaitable[str | ToolResult]]], Tool]:
    """Makes a Tool of `async def name(at: Workspace, …) -> str`.

    The docstring describes it; a line `path: where the file is` in it describes a parameter. Hints give the
    schema: str, int, float, bool, Literal, list[…], dict, … | None. `asks_first` asks before every call, also of
    a tool that only reads. `origins` says whose text its results may hold: that of others unless told. A call with
    other arguments than these is refused with BadInput before the function runs.
    """

    def build(function: Callable[..., Awaitable[str | ToolResult]]) -> Tool:
        about, parameters = schema_for(function)
        called = name or function.__name__

        async def run(at: Workspace, given: Mapping[str, Json]) -> ToolResult:
            arguments, problems = validate_arguments(parameters, given)
            if problems:
                raise BadInput(" ".join(problems), hint=f"Call {called} again with corrected arguments.")
            result: Any = await function(at, **arguments)
            return result if isinstance(result, ToolResult) else ToolResult(text=str(result))

        first = asks or (_ask_plainly(called) if asks_first else None)
        return Tool(
            name=called,
            description=about,
            parameters=parameters,
            run=run,
            effect=effect,
            asks=first,
            guests=guests,
            origins=origins,
        )

    return build


def _ask_plainly(called: str) -> Asks:
    def question(_: Workspace, given: Mapping[str, Json]) -> Question:
        detail = ", ".join(f"{key}: {value}" for key, value in given.items())
        return Question(id="", text=f"May I use {called}?", tool=called, detail=detail)

    return question


def schema_for(function: Callable[..., Any]) -> tuple[str, dict[str, Json]]:
    """Returns a function's description and the JSON Schema of its parameters.

    function: its first parameter is the workspace and not part of the schema; lines such as `path: where it is` in
        its docstring describe parameters and are not part of the description
    """
    signature = inspect.signature(function)
    hints = get_type_hints(function)
    names = list(signature.parameters)[1:]
    about, meanings = _split_docstring(inspect.getdoc(function) or "", names)
    properties: dict[str, Json] = {}
    for name in names:
        properties[name] = dict(_schema_of_hint(hints.get(name, str)))
        if name in meanings:
            properties[name]["description"] = meanings[name]
        default = signature.parameters[name].default
        if default is not inspect.Parameter.empty and default not in (None, ""):
            properties[name]["default"] = default
    required = [name for name in names if signature.parameters[name].default is inspect.Parameter.empty]
    return about, {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _split_docstring(doc: str, names: list[str]) -> tuple[str, dict[str, str]]:
    about: list[str] = []
    meanings: dict[str, str] = {}
    current = ""
    for line in doc.split("\n"):
        hit = _PARAMETER_LINE.fullmatch(line.strip())
        if hit and hit[1] in names:
            current = hit[1]
            meanings[current] = hit[2]
        elif current and line.startswith(" "):
            meanings[current] += " " + line.strip()
        else:
            current = ""
            about.append(line)
    return "\n".join(about).strip(), meanings


def _schema_of_hint(hint: Any) -> Mapping[str, Json]:
    if hint in _SCHEMAS:
        return _SCHEMAS[hint]  # type: ignore[no-any-return]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(inside)}
    if origin in (Union, types.UnionType):
        rest = [one for one in inside if one is not type(None)]
        return _schema_of_hint(rest[0]) if len(rest) == 1 else {"anyOf": [dict(_schema_of_hint(one)) for one in rest]}
    if origin in (list, tuple):
        return {"type": "array", "items": dict(_schema_of_hint(inside[0]))}
    if origin is dict:
        return {"type": "object"}
    raise TypeError(f"A tool cannot take a parameter of type {hint!r}.")


def validate_arguments(schema: Mapping[str, Json], given: Json) -> tuple[dict[str, Json], list[str]]:
    """Returns the arguments converted to their types, and the problems with them; valid when there are none.

    schema: the JSON Schema of an object
    given: the arguments, as an object or as JSON text
    """
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return {}, ["The arguments are not valid JSON."]
    if not isinstance(given, Mapping):
        return {}, ["The arguments must be a JSON object."]
    problems: list[str] = []
    converted = _convert_object(schema, given, "", problems)
    return converted, problems


def _convert_object(
    schema: Mapping[str, Json], given: Mapping[str, Json], where: str, problems: list[str]
) -> dict[str, Json]:
    properties: Mapping[str, Json] = schema.get("properties") or {}
    required = schema.get("required") or ()
    converted: dict[str, Json] = {}
    for name, value in given.items():
        if name not in properties:
            if schema.get("additionalProperties") is False:
                known = ", ".join(properties) or "none"
                problems.append(f"There is no argument `{where}{str(name)[:80]}`. There are: {known}.")
            converted[name] = value
        elif value is not None or name in required:
            converted[name] = _convert_value(properties[name], value, f"{where}{name}", problems)
    problems += [f"`{where}{name}` is missing." for name in required if name not in given]
    return converted


def _convert_value(schema: Json, value: Json, where: str, problems: list[str]) -> Json:
    if isinstance(value, str) and _UNSAFE_CHARACTERS.search(value):
        problems.append(f"`{where}` holds a NUL or a broken character.")
        return value
    if not isinstance(schema, Mapping):
        return value
    kinds = schema.get("type")
    allowed: list[str] = [kinds] if isinstance(kinds, str) else list(kinds or ())
    if allowed:
        is_valid, value = _convert_type(allowed, value)
        if not is_valid:
            problems.append(f"`{where}` must be {' or '.join(_TYPE_WORDS.get(one, one) for one in allowed)}.")
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
        return [_convert_value(inner, one, f"{where}[{number}]", problems) for number, one in enumerate(value)]
    if isinstance(value, Mapping) and schema.get("properties"):
        return _convert_object(schema, value, f"{where}.", problems)
    return value


def _convert_type(allowed: list[str], value: Json) -> tuple[bool, Json]:
    """Whether a value has or converts to one of these types, and the converted value."""
    if any(_has_type(kind, value) for kind in allowed):
        return True, int(value) if isinstance(value, float) and "number" not in allowed else value
    if isinstance(value, str):
        for kind in ("integer", "number", "boolean", "array", "object"):
            if kind in allowed:
                try:
                    meant = json.loads(value.strip().lower() if kind == "boolean" else value)
                except (ValueError, RecursionError):
                    continue
                if _has_type(kind, meant):
                    return True, meant
    elif "string" in allowed and isinstance(value, (int, float)) and not isinstance(value, bool):
        return True, str(value)
    return False, value


def _has_type(kind: str, value: Json) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) or (isinstance(value, float) and value.is_integer()),
        "number": isinstance(value, (int, float)),
        "array": isinstance(value, list),
        "object": isinstance(value, Mapping),
        "null": value is None,
    }.get(kind, kind not in _TYPE_WORDS)
