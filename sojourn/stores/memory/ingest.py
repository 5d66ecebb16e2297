"""Bringing in foreign sessions: 1:1, idempotent, nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.core.errors import BadInput, BadTitle
from sojourn.core.messages import Message
from sojourn.core.rows import FIGURE_COLUMNS, MESSAGE_COLUMNS, call_count, column, fitting, message_row, opening, safe
from sojourn.core.sessions import Principal, SessionId, check_session_id, clean_title, new_session_id
from sojourn.core.tables import BY_NAME
from sojourn.ports.importer import Transcript
from sojourn.ports.ingest import Ingested
from sojourn.stores.memory.data import Data
from sojourn.stores.memory.sessions import holder_of, insert, is_forgotten
from sojourn.text.escape import escape, unescape

_USAGE_BLANK = {
    **dict.fromkeys(BY_NAME["session_model_usage"].columns),
    **dict.fromkeys(("billing_provider", "billing_base_url", "billing_mode", "task"), ""),
    **dict.fromkeys(("api_call_count", "input_tokens", "output_tokens", "cache_read_tokens"), 0),
    **dict.fromkeys(("cache_write_tokens", "reasoning_tokens"), 0),
    **dict.fromkeys(("estimated_cost_usd", "actual_cost_usd"), 0.0),
}


def known(data: Data, source: str, home: str) -> dict[str, str]:
    here = (escape(source), escape(home))
    return {unescape(key[2]): row["fingerprint"] for key, row in data.tables["imports"].items() if key[:2] == here}


def is_away(data: Data, source: str, home: str, native: str) -> bool:
    """Whether a session was forgotten here, by its origin or by its id."""
    key = (escape(source), escape(home), escape(native))
    return is_forgotten(data, "import", *key) or is_forgotten(data, "session", native)


def bring_in(data: Data, source: str, home: str, mark: str, found: Transcript, principal: Principal) -> Ingested:
    native = found.native_id
    key = (escape(source), escape(home), escape(native))
    if is_away(data, source, home, native):
        return Ingested(native_id=native, session=None, outcome="forgotten", note="it was forgotten here")
    row = data.tables["imports"].get(key)
    if row is None:
        done = _new(data, source, home, found, principal)
        here: str = done.session or ""
    else:
        here = row["session_id"]
        done = _more(data, SessionId(here), found, is_same=row["fingerprint"] == mark)
    if row is None or row["fingerprint"] != mark:
        entry = dict(zip(("source", "source_home", "source_id"), key, strict=True))
        data.tables["imports"][key] = {**entry, "session_id": here, "fingerprint": mark, "at": data.clock()}
    if done.outcome != "unchanged":
        data.changed(here, "created" if done.outcome == "imported" else "log")
    return done


def _new(data: Data, source: str, home: str, found: Transcript, principal: Principal) -> Ingested:
    session, note = _free_id(data, source, found.native_id)
    fields = fitting(found.fields)
    title, more = _title(data, principal, found.fields.get("title"))
    if parent := fields.get("parent_session_id"):
        known_as = data.tables["imports"].get((escape(source), escape(home), escape(parent)))
        fields["parent_session_id"] = known_as["session_id"] if known_as else parent
    insert(
        data,
        {
            **fields,
            "id": session,
            "principal": principal,
            "source": fields.get("source") or source,
            "title": title,
            "source_home": home,
            "source_id": found.native_id,
            "started_at": fields.get("started_at") or 0.0,
            "last_active": _last_active(found),
            "message_count": len(found.messages),
            "last_seq": len(found.messages),
            "tool_call_count": sum(map(call_count, found.messages)),
        },
    )
    data.update(session, preview=opening(found.messages, data.redact))
    _write(data, session, 0, found.messages)
    _companions(data, session, found)
    return Ingested(
        native_id=found.native_id,
        session=session,
        outcome="imported",
        new_messages=len(found.messages),
        note="; ".join(filter(None, (note, more))),
    )


def _free_id(data: Data, source: str, native: str) -> tuple[SessionId, str]:
    """Imported sessions keep their id; on a clash the source's name goes before it."""
    for candidate in (native, f"{source}-{native}"):
        try:
            session = check_session_id(candidate)
        except BadInput:
            continue
        if (session,) not in data.tables["sessions"]:
            return session, "" if candidate == native else f"id {native} was taken; kept as {session}"
    session = new_session_id()
    return session, f"id {native!r} could not be kept; it is {session} here"


def _title(data: Data, principal: Principal, raw: Any) -> tuple[str | None, str]:
    """A foreign title, shortened and numbered where ours have to be unique."""
    try:
        title = clean_title(raw) if isinstance(raw, str) else None
    except BadTitle:
        title = clean_title(raw[:90])
    if title is None:
        return None, ""
    wanted, number = title, 1
    while holder_of(data, principal, wanted):
        number += 1
        wanted = f"{title[:92]} #{number}"
    return wanted, f'title "{title}" was taken; kept as "{wanted}"' if wanted != title else ""


def _last_active(found: Transcript) -> float:
    started = column("started_at", fitting(found.fields).get("started_at"), str) or 0.0
    return max([started, *(message.timestamp for message in found.messages)])


def _write(data: Data, session: SessionId, after: int, messages: Sequence[Message]) -> None:
    now = data.clock()
    for seq, message in enumerate(messages, after + 1):
        values = dict(zip(MESSAGE_COLUMNS, message_row(message, data.redact, now=now), strict=True))
        data.add("messages", (session, seq), {"id": data.rows + 1, "session_id": session, "seq": seq, **values})


def _companions(data: Data, session: SessionId, found: Transcript) -> None:
    """What came with the messages: records kept verbatim, and usage by model. The newest replaces the last."""
    for table in ("source_records", "session_model_usage"):
        data.tables[table] = {key: row for key, row in data.tables[table].items() if row["session_id"] != session}
    for position, (kind, text) in enumerate(found.records, 1):
        row = {"session_id": session, "position": position, "kind": escape(kind), "data": safe(text, data.redact)}
        data.tables["source_records"][session, position] = row
    for raw in found.fields.get("usage") or ():
        given = {name: column(name, raw.get(name), data.redact) for name in _USAGE_BLANK}
        usage = {**_USAGE_BLANK, **{k: v for k, v in given.items() if v is not None}, "session_id": session}
        data.tables["session_model_usage"][tuple(usage[name] for name in BY_NAME["session_model_usage"].key)] = usage


def _more(data: Data, session: SessionId, found: Transcript, *, is_same: bool) -> Ingested:
    """A session seen before: new messages are added, changed flags follow, rows gone upstream stay."""
    if (session,) not in data.tables["sessions"]:
        return Ingested(native_id=found.native_id, session=None, outcome="unchanged", note="it was deleted here")
    ours = {row["native_id"]: row for row in data.of("messages", session) if row["native_id"] is not None}
    theirs = {escape(message.native_id) for message in found.messages if message.native_id is not None}
    new: list[Message] = []
    moved = 0
    for message in found.messages:
        row = ours.get(escape(message.native_id)) if message.native_id is not None else None
        flags = {"active": int(message.active), "compacted": int(message.compacted)}
        if row is None:
            new.append(message)
        elif not flags.items() <= row.items():
            data.tables["messages"][session, row["seq"]] = {**row, **flags}
            moved += 1
    gone = len(ours.keys() - theirs)
    if is_same and not new and not moved:
        return Ingested(native_id=found.native_id, session=session, outcome="unchanged", removed_upstream=gone)
    last = data.session(session)["last_seq"]
    _write(data, session, last, new)
    _follow(data, session, found, new)
    _companions(data, session, found)
    return Ingested(
        native_id=found.native_id,
        session=session,
        outcome="updated",
        new_messages=len(new),
        changed_messages=moved,
        removed_upstream=gone,
    )


def _follow(data: Data, session: SessionId, found: Transcript, new: Sequence[Message]) -> None:
    """What the source says about the session as a whole; a title of ours, and an archiving of ours, stay."""
    row, theirs = data.session(session), fitting(found.fields)
    values = {name: column(name, theirs.get(name), data.redact) for name in FIGURE_COLUMNS}
    kept = {name: value for name, value in values.items() if value is not None}
    if row["title"] is None:
        title, _ = _title(data, row["principal"], found.fields.get("title"))
        kept |= {"title": column("title", title, data.redact)}
    data.update(
        session,
        **kept,
        last_seq=row["last_seq"] + len(new),
        message_count=row["message_count"] + len(new),
        tool_call_count=row["tool_call_count"] + sum(map(call_count, new)),
        revision=row["revision"] + 1,
        last_active=max(row["last_active"], _last_active(found)),
        preview=row["preview"] or opening(new, data.redact),
        ended_at=column("ended_at", theirs.get("ended_at"), data.redact),
        end_reason=column("end_reason", theirs.get("end_reason"), data.redact),
        archived=int(bool(theirs.get("archived")) or row["archived"]),
        rewind_count=column("rewind_count", theirs.get("rewind_count"), data.redact) or 0,
    )
