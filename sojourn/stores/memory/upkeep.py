"""Taking away, counting, proving, moving."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import Lease, SessionId
from sojourn.core.tables import BY_NAME, OF_A_SESSION
from sojourn.ports.admin import StoreStats, VerifyReport
from sojourn.ports.store import Removed
from sojourn.stores import mentions
from sojourn.stores.memory.data import OUR_KEYS, Data, Row
from sojourn.stores.memory.log import check, check_idle
from sojourn.stores.memory.sessions import tombstone
from sojourn.stores.memory.standing import check_not_carried
from sojourn.stores.records import json_value
from sojourn.text.escape import escape, unescape


# taking away
def family(data: Data, session: SessionId) -> list[SessionId]:
    """A session and the sub-agents it started; branches are conversations of their own and stay."""
    data.session(session)
    found = [session]
    for parent in found:
        children = (row for row in data.sessions() if row["parent_session_id"] == parent)
        found += [row["id"] for row in children if _is_subagent(row) and row["id"] not in found]
    return found


def _is_subagent(row: Row) -> bool:
    return row["source"] == "subagent" or '"_delegate_from"' in (row["model_config"] or "")


def delete(data: Data, session: SessionId, lease: Lease | None) -> Removed:
    """Rows taken away, per table. Where it was imported from stays known, so that it does not come back."""
    members = family(data, session)
    if lease is not None and lease.session == session:
        check(data, lease)
    for member in members[1:] if lease is not None and lease.session == session else members:
        check_idle(data, member)
        check_not_carried(data, member)
    removed: Counter[str] = Counter(controls=sum(one.session in members for one in data.controls))
    data.controls = [one for one in data.controls if one.session not in members]
    for table in {"sessions", *OF_A_SESSION} & data.tables.keys() - {"imports"}:
        owner = "id" if table == "sessions" else "session_id"
        gone = [key for key, row in data.tables[table].items() if row[owner] in members]
        for key in gone:
            del data.tables[table][key]
        removed[table] = len(gone)
    data.drop_files({key[0] for key in data.tables["inbox_files"] if (key[0],) not in data.tables["inbox"]})
    removed["blobs"] = _sweep(data, "blobs", {row["hash"] for row in data.tables["blob_uses"].values()})
    removed["system_prompts"] = _sweep(data, "system_prompts", {row["system_prompt_hash"] for row in data.sessions()})
    for row in list(data.sessions()):
        if row["parent_session_id"] in members:
            data.update(row["id"], parent_session_id=None)
    for key, bound in data.tables["bindings"].items():
        if bound["previous_session_id"] in members:
            data.tables["bindings"][key] = {**bound, "previous_session_id": None}
    for member in members:
        data.log.pop(member, None)
        data.changed(member, "deleted")
    data.changes = {key: change for key, change in data.changes.items() if key[0] not in members or key[1] == "deleted"}
    rows = {table: number for table, number in removed.items() if number}
    return Removed(session=session, rows=rows, sessions=tuple(members))


def _sweep(data: Data, table: str, used: set[str]) -> int:
    unused = [key for key in data.tables[table] if key[0] not in used]
    for key in unused:
        del data.tables[table][key]
    return len(unused)


def forget(data: Data, session: SessionId) -> Removed:
    """`delete`, what was remembered of them, and hashes that keep the session, its sub-agents and their origins away.
    No name stays."""
    members = family(data, session)
    origins = {key: row for key, row in data.tables["imports"].items() if row["session_id"] in members}
    titles = [row["title"] and unescape(row["title"]) for row in data.sessions() if row["id"] in members]
    removed = delete(data, session, None)
    _unmention(data, mentions.names(members, titles))
    hashes = [tombstone("session", member) for member in members] + [tombstone("import", *key) for key in origins]
    for one in hashes:
        data.tables["tombstones"].setdefault((one,), {"hash": one, "at": data.clock()})
    for key in origins:
        del data.tables["imports"][key]
    touched = set(data.touched)
    data.changed("", "deleted")
    data.touched = touched
    data.changes = {key: change for key, change in data.changes.items() if key[0] not in members}
    records = removed.rows.get("records", 0) + _unremember(data, members)
    more = {table: number for table, number in (("records", records), ("imports", len(origins))) if number}
    return replace(removed, rows={**removed.rows, **more})


def _unremember(data: Data, members: Sequence[str]) -> int:
    """Records that outlive a session but say that they were made of it (`source_session`): facts."""
    values = {key: json_value(row["value"]) for key, row in data.tables["records"].items()}
    told = [key for key, one in values.items() if isinstance(one, dict) and one.get("source_session") in members]
    for key in told:
        del data.tables["records"][key]
    return len(told)


def _unmention(data: Data, named: Sequence[str]) -> None:
    """Events of other sessions tell what was recalled from these; they say that no more."""
    for key, row in data.tables["events"].items():
        if row["name"] == "progress" and (left := mentions.without(row["data"], named)) is not None:
            data.tables["events"][key] = {**row, "data": left}


# attachments
def put_blob(data: Data, session: SessionId, raw: bytes, *, media_type: str, name: str) -> str:
    data.session(session)
    digest, kept = hashlib.sha256(raw).hexdigest(), escape(name)
    blob = {"hash": digest, "media_type": escape(media_type), "data": bytes(raw), "at": data.clock()}
    data.tables["blobs"].setdefault((digest,), blob)
    data.tables["blob_uses"][session, digest, kept] = {"session_id": session, "hash": digest, "name": kept}
    return digest


def get_blob(data: Data, session: SessionId, digest: str) -> tuple[bytes, str]:
    if not any(key[:2] == (session, digest) for key in data.tables["blob_uses"]):
        raise NotFound(f'Session "{session}" has no attachment {digest[:12]}.', hint="List the session's attachments.")
    row = data.tables["blobs"][(digest,)]
    return row["data"], unescape(row["media_type"])


# counting and proving
def stats(data: Data) -> StoreStats:
    sizes = {name: sum(map(_size, rows.values())) for name, rows in data.tables.items()}
    return StoreStats(
        kind="memory",
        place="memory",
        schema=1,
        not_indexed=0,
        bytes=sum(sizes.values()),
        bytes_by=sizes,
        sessions=len(data.tables["sessions"]),
        messages=len(data.tables["messages"]),
        events=len(data.tables["events"]),
        records=len(data.tables["records"]),
        sessions_by_source=_ranked(row["source"] for row in data.sessions()),
        messages_by_role=_ranked(row["role"] for row in data.tables["messages"].values()),
    )


def _size(row: Row) -> int:
    return sum(len(value) for value in row.values() if isinstance(value, (str, bytes)))


def _ranked(names: Any) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def verify(data: Data) -> VerifyReport:
    problems: list[str] = []
    for row in data.sessions():
        messages, events = data.of("messages", row["id"]), data.of("events", row["id"])
        seqs = [one["seq"] for one in (*messages, *events)]
        if len(set(seqs)) != len(seqs):
            problems.append(f"{row['id']} uses a number for both a message and an event")
        if max(seqs, default=0) > row["last_seq"]:
            problems.append(f"{row['id']} has a counter behind its log")
        if len(messages) != row["message_count"]:
            problems.append(f"{row['id']} has a wrong message count")
    owned = ("messages", "events", "records", "handoffs", "inbox", "outbox", "bindings")
    lost = [
        row
        for name in owned
        for row in data.tables[name].values()
        if row["session_id"] is not None and (row["session_id"],) not in data.tables["sessions"]
    ]
    problems += [f"{len(lost)} rows without a session"] if lost else []
    counted = {name: len(data.tables[name]) for name in ("sessions", "messages", "events", "records")}
    return VerifyReport(checked=counted, problems=tuple(problems))


# moving
def export_rows(data: Data, table: str, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
    shape = BY_NAME[table]
    rows = sorted(data.tables[table].values(), key=lambda row: tuple(row[name] for name in shape.key))
    left = (row for row in rows if after is None or tuple(row[name] for name in shape.key) > tuple(after))
    return [tuple(row[name] for name in shape.columns) for row in left][:limit]


def import_rows(data: Data, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    shape = BY_NAME[table]
    for values in rows:
        row = dict(zip(shape.columns, values, strict=True))
        if table == "sessions":
            row |= dict.fromkeys(("lease_holder", "lease_surface", "lease_since", "lease_until"))
        key = tuple(row[name] for name in OUR_KEYS.get(table, shape.key))
        if key in data.tables[table]:
            raise BadInput(f"{table} has a row {key} already.", hint="Move into an empty store.")
        data.add(table, key, row)
