"""AES-256-CBC with PKCS#7 padding, as Feishu and WeCom encrypt what they send."""

from __future__ import annotations

import base64

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.errors import SendRefused

_MAX_FILE_PADDING_BYTES = 32


def decrypt_cbc(key: bytes, iv: bytes, data: bytes, *, block_bytes: int = 16) -> bytes:
    """ValueError if it was not encrypted with this key."""
    decryptor = Cipher(algorithms.AES256(key), modes.CBC(iv)).decryptor()
    plain = decryptor.update(data) + decryptor.finalize()
    padding = plain[-1] if plain else 0
    if not 1 <= padding <= block_bytes or plain[-padding:] != bytes([padding]) * padding:
        raise ValueError("wrong padding")
    return plain[:-padding]


def encrypt_cbc(key: bytes, iv: bytes, plain: bytes, *, block_bytes: int = 16) -> bytes:
    padding = block_bytes - len(plain) % block_bytes
    encryptor = Cipher(algorithms.AES256(key), modes.CBC(iv)).encryptor()
    return encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()


def decrypt_file(data: bytes, key: str) -> bytes:
    """Decrypts a file with a key in base64, whose first half is the vector; it is padded to 32 bytes. SendRefused."""
    try:
        secret = base64.b64decode(key + "=" * (-len(key) % 4), validate=True)
        return decrypt_cbc(secret, secret[:16], data, block_bytes=_MAX_FILE_PADDING_BYTES)
    except ValueError as error:
        raise SendRefused("The file cannot be decrypted.", kind="bad_format") from error
