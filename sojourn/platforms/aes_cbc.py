"""AES-256-CBC with PKCS#7 padding, as Feishu and WeCom encrypt what they send."""

from __future__ import annotations

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


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
