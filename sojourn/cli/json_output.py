"""JSON output of the commands. docs/reference/cli.md lists the keys, which never change. Times are ISO 8601 in UTC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sojourn.text.formatting import to_iso

if TYPE_CHECKING:  # types only: a listing needs none of these modules
    from sojourn.ports.app import ImportReport, MoveReport
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.store import Health, Removed, SearchHit
    from sojourn.ports.store_admin import StoreStats, VerifyReport


def encode_hit(one: SearchHit) -> dict[str, Any]:
    return {
        "session": one.session,
        "message": f"{one.session}:{one.seq}" if one.seq else None,
        "seq": one.seq,
        "role": one.role,
        "timestamp": to_iso(one.timestamp),
        "title": one.title,
        "source": one.source,
        "tool_name": one.tool_name,
        "snippet": {"text": one.snippet.text, "marks": [list(mark) for mark in one.snippet.marks]},
    }


def encode_history(one: FoundHistory) -> dict[str, Any]:
    keys = ("source", "home", "sessions", "bytes", "version", "problem")
    return {key: getattr(one, key) for key in keys} | {"home": str(one.home)}


def encode_import_report(one: ImportReport) -> dict[str, Any]:
    shape = {field.name: getattr(one, field.name) for field in fields(one)}
    shape["skipped"] = [{"id": name, "because": why} for name, why in one.skipped]
    return {**shape, "notes": list(one.notes), "seconds": round(one.seconds, 3)}


def encode_move_report(one: MoveReport) -> dict[str, Any]:
    rows = [{"table": table, "rows": number, "hash": proof} for table, number, proof in one.rows]
    return {"tables": rows, "seconds": round(one.seconds, 3)}


def encode_removal(one: Removed) -> dict[str, Any]:
    return {
        "session": one.session,
        "rows": dict(one.rows),
        "files": list(one.files),
        "backups": list(one.backups),
        "left": list(one.remaining),
    }


def encode_stats(one: StoreStats) -> dict[str, Any]:
    shape = {field.name: getattr(one, field.name) for field in fields(one)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in shape.items()}


def encode_verdict(one: VerifyReport) -> dict[str, Any]:
    return {"clean": one.clean, "checked": dict(one.checked), "problems": list(one.problems)}


def encode_health(one: Health) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}
