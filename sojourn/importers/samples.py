"""Sample sessions for a new home, marked as samples."""

from __future__ import annotations

import json
from importlib.resources import files

from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER
from sojourn.ports.importer import Transcript
from sojourn.ports.store_admin import Ingest


def load_samples() -> list[Transcript]:
    """Reads the sessions of `samples.json`."""
    raw = json.loads(files("sojourn.importers").joinpath("samples.json").read_text("utf-8"))
    return [_to_transcript(session) for session in raw["sessions"]]


def _to_transcript(raw: dict[str, object]) -> Transcript:
    messages = raw.pop("messages")
    assert isinstance(messages, list)
    return Transcript(
        native_id=str(raw.pop("id")),
        fields=raw | {"source": "sample"},
        messages=[
            Message(
                **{**one, "tool_calls": json.dumps(one["tool_calls"]) if one.get("tool_calls") else None},
                native_id=str(number),
            )
            for number, one in enumerate(messages, 1)
        ],
    )


async def add_samples(store: Ingest) -> int:
    """Adds the sample sessions once; returns how many are new."""
    batch = [("1", one) for one in load_samples()]
    done = await store.ingest("sample", "built-in", batch, principal=OWNER)
    await store.index()
    return sum(one.outcome == "imported" for one in done)
