"""Rich notifications of Microsoft Graph: the key they are encrypted for, and how they are decrypted."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, padding, serialization
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.x509.oid import NameOID

from sojourn.core.errors import BadConfig
from sojourn.platforms.json_values import parse_object, read_text

_KEY_BITS = 3072
_MAX_KEY_BITS = 4096  # Graph takes 2048 to 4096
_LIFETIME_DAYS = 3650
_BLOCK_BITS = 128


class ContentKey:
    """A private key and the certificate that Graph encrypts for."""

    def __init__(self, pem: bytes) -> None:
        """BadConfig if the file has no RSA key or no certificate."""
        try:
            key = serialization.load_pem_private_key(pem, password=None)
            certificate = x509.load_pem_x509_certificate(pem)
        except ValueError as error:
            raise BadConfig(
                "The key file of Microsoft Graph cannot be read.", hint="It needs key and certificate."
            ) from error
        if not isinstance(key, rsa.RSAPrivateKey) or not 2048 <= key.key_size <= _MAX_KEY_BITS:
            raise BadConfig("The key of Microsoft Graph is of another kind.", hint="Use RSA with 2048 to 4096 bits.")
        self._key = key
        der = certificate.public_bytes(serialization.Encoding.DER)
        self.certificate, self.id = base64.b64encode(der).decode(), hashlib.sha256(der).hexdigest()[:32]

    def decrypt(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """The thing in `encryptedContent`. ValueError if it is not for us, or was changed."""
        if not hmac.compare_digest(read_text(content, "encryptionCertificateId").encode(), self.id.encode()):
            raise ValueError("it is encrypted for another certificate")
        sealed_key, data, mark = (_decode(content, name) for name in ("dataKey", "data", "dataSignature"))
        oaep = rsa_padding.OAEP(rsa_padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)  # Graph's choice
        key = self._key.decrypt(sealed_key, oaep)
        if not hmac.compare_digest(hmac.new(key, data, hashlib.sha256).digest(), mark):
            raise ValueError("it was changed on the way")
        decryptor = Cipher(algorithms.AES(key), modes.CBC(key[:16])).decryptor()
        unpadder = padding.PKCS7(_BLOCK_BITS).unpadder()
        plain = unpadder.update(decryptor.update(data) + decryptor.finalize()) + unpadder.finalize()
        return parse_object(plain.decode(errors="replace"))


def _decode(content: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(read_text(content, name), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{name} cannot be read") from error


def open_key(path: Path) -> ContentKey:
    """The key of a file, which is made if there is none; only its owner can read it. BadConfig."""
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(_build_pem())
        return ContentKey(path.read_bytes())
    except OSError as error:
        raise BadConfig(f"{path} cannot be used: {error.strerror}.", hint="Set `key_file` to another one.") from error


def _build_pem() -> bytes:
    key, now = rsa.generate_private_key(public_exponent=65537, key_size=_KEY_BITS), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sojourn")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_LIFETIME_DAYS))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)
