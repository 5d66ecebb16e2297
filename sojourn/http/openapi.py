"""The OpenAPI document: adds authentication, the problems of every operation, and the forms of `progress` events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sojourn import __version__
from sojourn.core.progress import DETAILS
from sojourn.http.auth import PUBLIC_PATHS
from sojourn.http.problems import MEDIA_TYPE, OPENAI_PREFIX, OpenAIProblem, Problem

_ABOUT = """Your agent sessions over HTTP. Everything but `/healthz` needs the token: `Authorization: Bearer …`.
Errors are problems (RFC 9457) with a stable `code` and a `hint`."""
_REF = "#/components/schemas/{model}"
_COMMON_STATUSES = (401, 421, 422, 500, 503)
_WRITE_STATUSES = (400, 403, 413, 507)
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def build_openapi(app: FastAPI, build_routes: Callable[[], None] = lambda: None) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi`; made once, when first asked for. `build_routes` adds the routes that wait for
    a request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            build_routes()
            app.openapi_schema = _add_problems(
                get_openapi(title="Sojourn", version=__version__, description=_ABOUT, routes=app.routes)
            )
        return app.openapi_schema

    return document


def _add_problems(document: dict[str, Any]) -> dict[str, Any]:
    parts = document.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for kind in (Problem, OpenAIProblem):
        problem = kind.model_json_schema(ref_template=_REF, mode="serialization")
        schemas.update(problem.pop("$defs", {}))
        schemas[kind.__name__] = problem
    stages = [_progress_schema(stage, _to_schema(detail, schemas)) for stage, detail in DETAILS.items()]
    schemas["Progress"] = {"oneOf": stages, "description": "The data of a `progress` event: one form per `stage`."}
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, operations in document["paths"].items():
        form = ("application/json", "OpenAIProblem") if path.startswith(OPENAI_PREFIX) else (MEDIA_TYPE, "Problem")
        for method, operation in operations.items():
            more = _WRITE_STATUSES if method not in ("get", "head", "options") else ()
            _add_operation_problems(operation, more, form, open=path in PUBLIC_PATHS)
    return document


def _progress_schema(stage: str, detail: dict[str, Any]) -> dict[str, Any]:
    properties = {"stage": {"const": stage}, "detail": detail}
    return {"type": "object", "required": ["stage", "detail"], "properties": properties}


def _to_schema(hint: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a type in `core.progress`. pydantic takes no `typing.TypedDict` before Python 3.12."""
    if is_typeddict(hint):
        properties = {name: _to_schema(one, schemas) for name, one in get_type_hints(hint).items()}
        schemas[hint.__name__] = {"type": "object", "description": hint.__doc__, "properties": properties}
        return {"$ref": _REF.format(model=hint.__name__)}
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is Sequence:
        return {"type": "array", "items": _to_schema(get_args(hint)[0], schemas)}
    if get_origin(hint) is Mapping:
        return {"type": "object"}
    return {"type": _JSON_TYPES[hint]} if hint in _JSON_TYPES else {}


def _add_operation_problems(
    operation: dict[str, Any], more: tuple[int, ...], form: tuple[str, str], *, open: bool
) -> None:
    responses: dict[str, Any] = operation.setdefault("responses", {})
    if open:
        operation["security"] = []
    for status in (421, 500) if open else (*_COMMON_STATUSES, *more):
        if status != 422 or operation.get("parameters") or operation.get("requestBody"):
            responses.setdefault(str(status), {"description": HTTPStatus(status).phrase})
    for response in responses.values():
        if "itemSchema" in (frames := response.get("content", {}).get("text/event-stream", {})):
            frames.pop("schema", None)  # the framework takes any other answer for one text
    for status_text, response in responses.items():
        if status_text >= "400" and (status_text == "422" or "content" not in response):
            response["content"] = {form[0]: {"schema": {"$ref": _REF.format(model=form[1])}}}
