"""Attachments by hash: kept once, however often they are used."""

from __future__ import annotations

import hashlib

from sojourn.core.errors import NotFound
from sojourn.core.sessions import SessionId
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import exists
from sojourn.text.escape import escape, unescape


def put(db: Db, session: SessionId, data: bytes, *, media_type: str, name: str) -> str:
    exists(db, session)
    digest = hashlib.sha256(data).hexdigest()
    db.run(
        "INSERT INTO blobs(hash, media_type, data, at) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
        (digest, escape(media_type), data, db.now()),
    )
    db.run(
        "INSERT INTO blob_uses(session_id, hash, name) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (session, digest, escape(name)),
    )
    return digest


def get(db: Db, session: SessionId, digest: str) -> tuple[bytes, str]:
    """The bytes and their media type, if that session uses them."""
    row = db.one(
        "SELECT b.data, b.media_type FROM blobs b JOIN blob_uses u ON u.hash = b.hash "
        "WHERE b.hash = ? AND u.session_id = ?",
        (escape(digest), escape(session)),
    )
    if row is None:
        raise NotFound(f'Session "{session}" has no attachment {digest[:12]}.', hint="List the session's attachments.")
    return bytes(row["data"]), unescape(row["media_type"])
