"""The key pair that tells push servers that a message comes from this server (VAPID, RFC 8292)."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_TOKEN_SECONDS = 12 * 3600


class PushKey:
    """The key pair; made when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._key = _read_key(path) or _create_key(path)
        point = self._key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.public = _encode(point)

    def authorize(self, endpoint: str, contact: str) -> str:
        """The header `Authorization` for one message."""
        address = urlsplit(endpoint)
        claims = {
            "aud": f"{address.scheme}://{address.netloc}",
            "exp": int(time.time()) + _TOKEN_SECONDS,
            "sub": contact,
        }
        head = {"typ": "JWT", "alg": "ES256"}
        signed = ".".join(_encode(json.dumps(part, separators=(",", ":")).encode()) for part in (head, claims))
        r, s = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"vapid t={signed}.{_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}, k={self.public}"


def _read_key(path: Path) -> ec.EllipticCurvePrivateKey | None:
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def _create_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.new")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(text)
    draft.replace(path)
    return key


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
