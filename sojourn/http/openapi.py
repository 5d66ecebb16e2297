"""The OpenAPI document, complete: who may ask, and every problem an operation may answer with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from sojourn import __version__
from sojourn.http.auth import PUBLIC_PATHS
from sojourn.http.problems import MEDIA_TYPE, OPENAI_PREFIX, OpenAIProblem, Problem

_ABOUT = """Your agent sessions over HTTP. Everything but `/healthz` needs the token: `Authorization: Bearer …`.
Errors are problems (RFC 9457) with a stable `code` and a `hint`."""
_REF = "#/components/schemas/{model}"
_COMMON_STATUSES = (401, 421, 422, 500, 503)
_WRITE_STATUSES = (400, 403, 413, 507)
_OPERATIONS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


def build_openapi(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi`; made once, when first asked for."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
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
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    for path, method, operation in _operations(document):
        more = _WRITE_STATUSES if method not in ("get", "head", "options") else ()
        form = ("application/json", "OpenAIProblem") if path.startswith(OPENAI_PREFIX) else (MEDIA_TYPE, "Problem")
        _add_operation_problems(operation, more, form, open=path in PUBLIC_PATHS)
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in _OPERATIONS:
                yield path, method, operation


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
