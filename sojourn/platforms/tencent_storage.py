"""Tencent's object storage (COS): signs the upload of a file with keys that a network lends."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageKey:
    """A key for some minutes; times are in seconds since 1970."""

    id: str
    secret: str
    token: str
    begins_at: int
    ends_at: int


def sign_upload(key: StorageKey, host: str, path: str, size: int) -> dict[str, str]:
    """The headers of a PUT: its method, its path and some of its headers are signed (HMAC-SHA1)."""
    period = f"{key.begins_at};{key.ends_at}"
    token = {"x-cos-security-token": key.token} if key.token else {}
    signed = {"content-length": str(size), "host": host} | token
    pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(signed.items()))
    request = hashlib.sha1(f"put\n{path}\n\n{pairs}\n".encode(), usedforsecurity=False).hexdigest()
    fields = {
        "q-sign-algorithm": "sha1",
        "q-ak": key.id,
        "q-sign-time": period,
        "q-key-time": period,
        "q-header-list": ";".join(sorted(signed)),
        "q-url-param-list": "",
        "q-signature": _compute_mac(_compute_mac(key.secret, period), f"sha1\n{period}\n{request}\n"),
    }
    return {"Authorization": "&".join(f"{name}={value}" for name, value in fields.items())} | token


def _compute_mac(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha1).hexdigest()
