"""Files of Weixin: on its CDN, each encrypted with a key of its own (AES-128-ECB)."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.errors import SendRefused
from sojourn.platforms.downloads import VendorDownloads, guess_media_type
from sojourn.platforms.json_values import read_object, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.weixin import TOKEN_VARIABLE, WeixinSettings
from sojourn.platforms.weixin.api import WeixinApi
from sojourn.ports.platform import File

MEDIA_HOSTS = ("weixin.qq.com", "wechat.com", "qpic.cn")
_IMAGE, _VIDEO, _FILE = 1, 2, 3  # kinds of uploads
_BLOCK_BITS, _KEY_BYTES = 128, 16
_MAX_UPLOAD_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFile:
    """A file of a message: its address on the CDN and the key that decrypts it."""

    url: str
    key: bytes  # empty if the file is not encrypted
    name: str
    media_type: str


def read_media(item: Mapping[str, Any], cdn_url: str) -> SealedFile | None:
    """The file of an item; None if it has none. SendRefused if its key cannot be read."""
    kinds = {2: ("image_item", "image.jpg", ""), 3: ("voice_item", "voice.silk", "audio/silk")}
    kinds |= {4: ("file_item", "file", ""), 5: ("video_item", "video.mp4", "video/mp4")}
    kind = item.get("type")
    field, name, media_type = kinds.get(kind, ("", "", "")) if isinstance(kind, int) else ("", "", "")
    about = read_object(item, field)
    media = read_object(about, "media")
    parameter = read_text(media, "encrypt_query_param")
    url = read_text(media, "full_url")
    if not url and parameter:
        url = f"{cdn_url}/download?encrypted_query_param={quote(parameter, safe='')}"
    if not url:
        return None
    key = _parse_hex(read_text(about, "aeskey")) or parse_key(read_text(media, "aes_key"))
    if not key and field != "image_item":
        raise SendRefused("The file comes without its key.", kind="bad_format")
    return SealedFile(url=url, key=key, name=read_text(about, "file_name") or name, media_type=media_type)


def parse_key(text: str) -> bytes:
    """A key: Base64 of its 16 bytes, or of their 32 hexadecimal digits. Empty if there is none. SendRefused."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        decoded = b"?"
    key = decoded if len(decoded) in (0, _KEY_BYTES) else _parse_hex(decoded.decode("latin-1"))
    if text and not key:
        raise SendRefused("The key of the file cannot be read.", kind="bad_format")
    return key


def _parse_hex(text: str) -> bytes:
    return bytes.fromhex(text) if re.fullmatch(r"[0-9a-fA-F]{32}", text) else b""


def encrypt(data: bytes, key: bytes) -> bytes:
    padder = padding.PKCS7(_BLOCK_BITS).padder()
    encryptor = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()  # the network demands it
    return encryptor.update(padder.update(data) + padder.finalize()) + encryptor.finalize()


def decrypt(data: bytes, key: bytes) -> bytes:
    """SendRefused."""
    decryptor = Cipher(algorithms.AES128(key), modes.ECB()).decryptor()
    unpadder = padding.PKCS7(_BLOCK_BITS).unpadder()
    try:
        return unpadder.update(decryptor.update(data) + decryptor.finalize()) + unpadder.finalize()
    except ValueError as error:
        raise SendRefused("The file cannot be decrypted.", kind="bad_format") from error


class WeixinMedia:
    """The files of one bot."""

    def __init__(self, settings: WeixinSettings, api: WeixinApi) -> None:
        self._api, self._cdn_url = api, settings.cdn_url.rstrip("/")
        self._cdn = RestClient("Weixin's file server", self._cdn_url, key=TOKEN_VARIABLE)
        self._downloads = VendorDownloads("Weixin", MEDIA_HOSTS, origin=self._cdn_url)

    async def fetch(self, item: Mapping[str, Any]) -> File | None:
        """The file of an item; None if it has none. SendRefused, PlatformDown."""
        link = read_media(item, self._cdn_url)
        if link is None:
            return None
        file = await self._downloads.fetch(link.url, name=link.name, media_type=link.media_type)
        data = decrypt(file.data, link.key) if link.key else file.data
        media_type = guess_media_type(data) or file.media_type
        return File(name=file.name, media_type=media_type, data=data)

    async def upload(self, to: str, file: File) -> dict[str, Any]:
        """Uploads a file for a person; gives the item that a message shows it with. SendRefused, PlatformDown."""
        if len(file.data) > _MAX_UPLOAD_BYTES:
            raise SendRefused("The file is too large for Weixin.", kind="too_long")
        kind = {"image": _IMAGE, "video": _VIDEO}.get(file.media_type.partition("/")[0], _FILE)
        key, file_key = secrets.token_bytes(_KEY_BYTES), secrets.token_hex(16)
        sealed = encrypt(file.data, key)
        about = {
            "filekey": file_key,
            "media_type": kind,
            "to_user_id": to,
            "rawsize": len(file.data),
            "rawfilemd5": hashlib.md5(file.data, usedforsecurity=False).hexdigest(),
            "filesize": len(sealed),
            "no_need_thumb": True,
            "aeskey": key.hex(),
        }
        url = self._build_upload_url(await self._api.call("getuploadurl", about), file_key)
        headers = {"Content-Type": "application/octet-stream"}
        reply = await self._cdn.request("POST", url, content=sealed, headers=headers)
        parameter = reply.headers.get("x-encrypted-param", "")
        if not parameter:
            raise SendRefused("Weixin did not accept the file.", kind="unknown")
        media = {
            "encrypt_query_param": parameter,
            "aes_key": base64.b64encode(key.hex().encode()).decode(),
            "encrypt_type": 1,
        }
        return _build_item(kind, media, file, len(sealed))

    def _build_upload_url(self, page: Mapping[str, Any], file_key: str) -> str:
        """Where to upload to: the address that Weixin gives if it is on its own hosts, else the CDN's."""
        if url := read_text(page, "upload_full_url"):
            return str(self._downloads.check(url))
        parameter = read_text(page, "upload_param")
        if not parameter:
            raise SendRefused("Weixin gives no address for the file.", kind="unknown")
        return f"{self._cdn_url}/upload?encrypted_query_param={quote(parameter, safe='')}&filekey={file_key}"

    async def close(self) -> None:
        await self._cdn.close()
        await self._downloads.close()


def _build_item(kind: int, media: Mapping[str, Any], file: File, sealed_bytes: int) -> dict[str, Any]:
    if kind == _IMAGE:
        return {"type": 2, "image_item": {"media": media, "mid_size": sealed_bytes}}
    if kind == _VIDEO:
        return {"type": 5, "video_item": {"media": media, "video_size": sealed_bytes}}
    return {"type": 4, "file_item": {"media": media, "file_name": file.name or "file", "len": str(len(file.data))}}
