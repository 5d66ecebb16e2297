"""Writes the pages' types of the HTTP API from its OpenAPI document: `python -m scripts.api_types`."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI

import sojourn.http
from sojourn.http.openapi import build_openapi

TARGET = Path(__file__).parents[1] / "web/src/api/schema.ts"
_HEAD = "// Written by `python -m scripts.api_types` from the OpenAPI document. A test keeps it up to date.\n"
_NOT_ASKED_BY_PAGES = (
    "OpenAI",
    "Anthropic",
    "ChatCompletion",
    "Response",
    "TextOptions",
    "TokenCount",
    "TokenDetails",
    "Completion",
    "Stream",
    "HTTPValidation",
    "Validation",
    "Body_",
    "Problem",
    "FieldError",
)
_TYPES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "Record<string, unknown>",
}


def build_document() -> dict[str, Any]:
    """The OpenAPI document of every router below `sojourn.http`."""
    app = FastAPI()
    for found in sorted(one.name for one in pkgutil.iter_modules(sojourn.http.__path__)):
        router = getattr(import_module(f"sojourn.http.{found}"), "router", None)
        if isinstance(router, APIRouter):
            app.include_router(router)
    return build_openapi(app)()


def to_typescript(schema: dict[str, Any]) -> str:
    """The TypeScript type of a JSON Schema, as far as our document uses it."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2].replace("-", "")
    if "const" in schema or "enum" in schema:
        return " | ".join(f'"{one}"' for one in schema.get("enum", [schema.get("const")]))
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(to_typescript(one) for one in alternatives))
    if schema.get("type") == "array":
        if entries := schema.get("prefixItems"):
            return f"[{', '.join(to_typescript(one) for one in entries)}]"
        return f"Array<{to_typescript(schema.get('items', {}))}>"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"Record<string, {to_typescript(schema['additionalProperties'])}>"
    return _TYPES.get(schema.get("type", ""), "unknown")


def _render_interface(name: str, schema: dict[str, Any]) -> str:
    always = set(schema.get("required", ()))
    fields = "".join(
        f"  {key}{'' if key in always or one.get('default') is not None else '?'}: {to_typescript(one)};\n"
        for key, one in schema.get("properties", {}).items()
    )
    about = " ".join(str(schema.get("description", "")).split())
    return f"/** {about} */\nexport interface {name.replace('-', '')} {{\n{fields}}}\n"


def render_types() -> str:
    """The whole file."""
    schemas = build_document()["components"]["schemas"]
    stages = [one["properties"] for one in schemas["Progress"]["oneOf"]]
    asked = (name for name in schemas if not name.startswith(_NOT_ASKED_BY_PAGES) and "properties" in schemas[name])
    parts = [_HEAD, *(_render_interface(name, schemas[name]) for name in sorted(asked))]
    stage_types = [(to_typescript(one["stage"]), to_typescript(one["detail"])) for one in stages]
    union = "".join(f"\n  | {{ stage: {stage}; detail: {detail} }}" for stage, detail in stage_types)
    return "\n".join([*parts, f"export type ProgressData ={union};\n"])


if __name__ == "__main__":
    TARGET.write_text(render_types(), "utf-8")
