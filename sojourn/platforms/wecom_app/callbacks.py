"""WeCom's encrypted callbacks: their signature, their encryption, and the XML inside."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from sojourn.platforms.aes_cbc import decrypt_cbc
from sojourn.platforms.request_checks import RequestRefused, is_equal

_BLOCK_BYTES = 32
_RANDOM_BYTES, _LENGTH_BYTES = 16, 4  # before the message
_ENCRYPTED = re.compile(rb"<Encrypt>\s*(?:<!\[CDATA\[)?([A-Za-z0-9+/=]+)(?:\]\]>)?\s*</Encrypt>")
_DECLARATION = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackKeys:
    """What WeCom and we share. `receiver` is the company's id, which stands in every message."""

    token: str
    aes_key: bytes
    receiver: str


def parse_aes_key(text: str) -> bytes:
    """ValueError if it is not 43 characters of Base64."""
    try:
        key = base64.b64decode(f"{text}=", validate=True)
    except binascii.Error as error:
        raise ValueError("not Base64") from error
    if len(key) != _BLOCK_BYTES:
        raise ValueError("not 32 bytes")
    return key


def compute_signature(token: str, stamp: str, nonce: str, encrypted: str) -> str:
    words = "".join(sorted((token, stamp, nonce, encrypted)))
    return hashlib.sha1(words.encode(errors="replace")).hexdigest()


def open_callback(keys: CallbackKeys, query: Mapping[str, str], encrypted: str) -> str:
    """Checks and decrypts what a callback carries. RequestRefused."""
    expected = compute_signature(keys.token, query.get("timestamp", ""), query.get("nonce", ""), encrypted)
    if not is_equal(query.get("msg_signature", ""), expected):
        raise RequestRefused("its signature does not match token")
    try:
        return decrypt(keys, encrypted)
    except ValueError as error:
        raise RequestRefused("it is not encrypted with aes_key for this company") from error


def decrypt(keys: CallbackKeys, encrypted: str) -> str:
    """ValueError if it was not encrypted with this key, or for another company."""
    try:
        data = base64.b64decode(encrypted, validate=True)
    except binascii.Error as error:
        raise ValueError("not Base64") from error
    plain = decrypt_cbc(keys.aes_key, keys.aes_key[:16], data, block_bytes=_BLOCK_BYTES)
    start = _RANDOM_BYTES + _LENGTH_BYTES
    size = int.from_bytes(plain[_RANDOM_BYTES:start], "big")
    message, receiver = plain[start : start + size], plain[start + size :]
    if len(message) != size or not is_equal(receiver.decode(errors="replace"), keys.receiver):
        raise ValueError("another company")
    return message.decode()


def find_encrypted(body: bytes) -> str:
    """The encrypted part of a request. RequestRefused."""
    found = _ENCRYPTED.search(body)
    if found is None:
        raise RequestRefused("it has no encrypted part")
    return found[1].decode()


def parse_fields(text: str) -> dict[str, str]:
    """The fields of a message, which is flat XML. RequestRefused (400) for anything else."""
    try:
        if _DECLARATION.search(text):
            raise ValueError("entities are not wanted")
        root = ElementTree.fromstring(text)
    except (ValueError, ElementTree.ParseError) as error:
        raise RequestRefused("it is not the XML that was expected", status=400) from error
    return {one.tag: (one.text or "").strip() for one in root}
