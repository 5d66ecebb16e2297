"""Writes the pages' types of `progress` events from the OpenAPI document: `python -m scripts.progress_types`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI

from sojourn.http.openapi import build_openapi

TARGET = Path(__file__).parents[1] / "web/src/api/progress.ts"
_HEAD = "// Written by `python -m scripts.progress_types` from the OpenAPI document. A test keeps it up to date.\n"
_TYPES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "object": "Record<string, unknown>",
}


def to_typescript(schema: dict[str, Any]) -> str:
    """The TypeScript type of a JSON Schema, as far as `progress` uses it."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return " | ".join(f'"{one}"' for one in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"Array<{to_typescript(schema['items'])}>"
    return (
        "Record<string, unknown>" if schema.get("type") == "object" else _TYPES.get(schema.get("type", ""), "unknown")
    )


def render_types() -> str:
    """The whole file."""
    schemas = build_openapi(FastAPI())()["components"]["schemas"]
    stages = [one["properties"] for one in schemas["Progress"]["oneOf"]]
    names = {name for name in schemas if name.endswith("Detail") or name == "TaskEntry"}
    parts = [_HEAD]
    for name in sorted(names):
        fields = "".join(f"  {key}?: {to_typescript(one)};\n" for key, one in schemas[name]["properties"].items())
        parts.append(f"/** {schemas[name]['description']} */\nexport interface {name} {{\n{fields}}}\n")
    stage_types = [(to_typescript(one["stage"]), to_typescript(one["detail"])) for one in stages]
    union = "".join(f"\n  | {{ stage: {stage}; detail: {detail} }}" for stage, detail in stage_types)
    return "\n".join([*parts, f"export type ProgressData ={union};\n"])


if __name__ == "__main__":
    TARGET.write_text(render_types(), "utf-8")
