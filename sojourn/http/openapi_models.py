"""Imports FastAPI such that its models of OpenAPI documents are built when a document is asked for, not at start."""

from __future__ import annotations

from importlib import import_module

from pydantic import BaseModel


def import_fastapi() -> None:
    """A fifth of a server's start would go into models of a document that few ask for. Once per process."""
    BaseModel.model_config["defer_build"] = True  # the models inherit it while they are defined
    try:
        import_module("fastapi.openapi.models")
    finally:
        del BaseModel.model_config["defer_build"]
