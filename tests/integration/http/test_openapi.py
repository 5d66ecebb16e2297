"""The document is complete: who may ask, and every problem."""

from pathlib import Path

import pytest

import sojourn
from sojourn.core import errors


@pytest.fixture
async def document(client):
    return (await client.get("/openapi.json")).json()


def operations(document):
    return {(m, p): op for p, item in document["paths"].items() for m, op in item.items()}


async def test_every_operation_has_a_summary_and_its_problems(document):
    for (method, path), operation in operations(document).items():
        assert operation["summary"], path
        told = operation["responses"]
        assert {"421", "500"} <= told.keys()
        if path not in ("/healthz", "/proof"):
            assert {"401", "503"} <= told.keys()
        if method in ("post", "patch", "delete"):
            assert {"403", "413"} <= told.keys()
        for status, response in told.items():
            if status >= "400" and (path, status) != ("/healthz", "503"):
                form = "application/json" if path.startswith("/v1/") else "application/problem+json"
                assert list(response["content"]) == [form], (path, status)


async def test_all_but_health_and_the_proof_need_the_token(document):
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["security"] == [{"token": []}]
    free = [path for (_, path), operation in operations(document).items() if operation.get("security") == []]
    assert free == ["/healthz", "/proof"]


async def test_it_describes_this_version_and_nothing_foreign(document):
    assert document["info"]["version"] == sojourn.__version__
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert document["components"]["schemas"]["Problem"]["properties"].keys() >= {"type", "code", "hint", "detail"}


async def test_every_route_is_in_the_reference(document):
    page = (Path(sojourn.__file__).parents[1] / "docs" / "reference" / "http.md").read_text("utf-8")
    missing = [f"{m.upper()} {p}" for m, p in operations(document) if f"`{m.upper()} {p}`" not in page]
    assert missing == []


async def test_every_code_of_a_problem_is_in_the_reference():
    page = (Path(sojourn.__file__).parents[1] / "docs" / "reference" / "http.md").read_text("utf-8")
    ours = [
        "no_route",
        "method_not_allowed",
        "foreign_host",
        "foreign_origin",
        "too_large",
        "plugin_failed",
        "internal",
    ]
    known = [
        one.code for one in errors.__dict__.values() if isinstance(one, type) and issubclass(one, errors.SojournError)
    ]
    assert [code for code in (*ours, *known) if code != "failed" and f"`{code}`" not in page] == []
