"""JSON output of the commands. docs/reference/cli.md lists the keys, which never change. Times are ISO 8601 in UTC."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sojourn.text.formatting import to_iso

if TYPE_CHECKING:  # types only: a listing needs none of these modules
    from sojourn.ports.app import ImportReport
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.store import Removed, SearchHit


def encode_hit(one: SearchHit) -> dict[str, Any]:
    return {
        "session": one.session,
        "message": f"{one.session}:{one.seq}" if one.seq else None,
        "seq": one.seq,
        "score": one.score,
        "role": one.role,
        "timestamp": to_iso(one.timestamp),
        "title": one.title,
        "source": one.source,
        "tool_name": one.tool_name,
        "snippet": {"text": one.snippet.text, "marks": [list(mark) for mark in one.snippet.marks]},
    }


def encode_history(one: FoundHistory) -> dict[str, Any]:
    return asdict(one) | {"home": str(one.home)}


def encode_import_report(one: ImportReport) -> dict[str, Any]:
    skipped = [{"id": name, "because": why} for name, why in one.skipped]
    return asdict(one) | {"skipped": skipped, "seconds": round(one.seconds, 3)}


def encode_removal(one: Removed) -> dict[str, Any]:
    return {
        "session": one.session,
        "rows": dict(one.rows),
        "files": list(one.files),
        "backups": list(one.backups),
        "left": list(one.remaining),
    }
