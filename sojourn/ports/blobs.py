"""Attachments, by the hash of their bytes."""

from __future__ import annotations

from typing import Protocol

from sojourn.core.sessions import SessionId


class BlobStore(Protocol):
    """Keeps bytes once; who uses them decides who may read them, and when they go."""

    async def put_blob(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str: ...
    async def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]: ...  # bytes, media type; NotFound
