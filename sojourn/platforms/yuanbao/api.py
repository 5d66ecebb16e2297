"""Yuanbao's HTTP API: the token, and files, which lie in Tencent's object storage (COS)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx2

from sojourn.core.errors import SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.downloads import VendorDownloads
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.json_values import parse_body, read_object, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.tencent_storage import StorageKey, sign_upload
from sojourn.platforms.token_client import TokenClient
from sojourn.platforms.yuanbao import SECRET_VARIABLE, YuanbaoSettings
from sojourn.ports.platform import File

CLIENT_VERSION, CLIENT_SYSTEM = "2.18.2", "Linux"
CLIENT_KIND = "16"  # the open plugin's; which one others should use is not known
_HEADERS = {"X-AppVersion": CLIENT_VERSION, "X-OperationSystem": CLIENT_SYSTEM}
_HEADERS |= {"X-Instance-Id": CLIENT_KIND, "X-Bot-Version": CLIENT_VERSION}
_BEIJING = timezone(timedelta(hours=8))
_BUSY_CODE = 10099
_MAX_TRIES = 4  # to sign, while Yuanbao is busy
_RETRY_SECONDS = 1.0
_MAX_FILE_BYTES = 20 * 1024 * 1024
_FILE_HOSTS = ("yuanbao.tencent.com", "myqcloud.com", "qpic.cn", "qq.com")
_DOWNLOAD_PATH = "/api/resource/download"
_CODES = ResultCodes(
    label="Yuanbao", key=SECRET_VARIABLE, code_field="code", message_field="msg", kinds={"transient": (_BUSY_CODE,)}
)


def sign(nonce: str, stamp: str, key: str, secret: Secret) -> str:
    """The signature of a request for a token."""
    text = f"{nonce}{stamp}{key}{secret.reveal()}"
    return hmac.new(secret.reveal().encode(), text.encode(), hashlib.sha256).hexdigest()


class YuanbaoApi(TokenClient):
    """One bot. `bot_id` and `source` are known when there is a token."""

    def __init__(self, settings: YuanbaoSettings) -> None:
        super().__init__("Yuanbao", settings.api_url, key=SECRET_VARIABLE)
        self._settings = settings
        self._storage = RestClient("Yuanbao's file server", "https://cos.myqcloud.com", key=SECRET_VARIABLE)
        origin = settings.upload_url.format(bucket="files", region="any")
        self._downloads = VendorDownloads("Yuanbao", _FILE_HOSTS, origin=origin, max_bytes=_MAX_FILE_BYTES)
        self.bot_id, self.source = "", "bot"

    async def fetch_token(self) -> tuple[str, float]:
        for n in range(_MAX_TRIES):
            page = await self._request_token()
            if page.get("code") != _BUSY_CODE or n == _MAX_TRIES - 1:
                break
            await asyncio.sleep(_RETRY_SECONDS)
        code = read_code(page, "code")
        if code not in (0, None, _BUSY_CODE):
            raise self._http.to_key_refused()
        data = read_object(_CODES.check(page), "data")
        token, self.bot_id = read_text(data, "token"), read_text(data, "bot_id")
        self.source = read_text(data, "source") or "bot"
        if not token or not self.bot_id:
            raise SendRefused("Yuanbao gives no token.", kind="unknown")
        return token, float(read_code(data, "duration") or 0)

    async def _request_token(self) -> dict[str, Any]:
        key, nonce = self._settings.app_key, secrets.token_hex(16)
        stamp = datetime.now(UTC).astimezone(_BEIJING).isoformat(timespec="seconds")
        signature = sign(nonce, stamp, key, self._settings.app_secret)
        body = {"app_key": key, "nonce": nonce, "timestamp": stamp, "signature": signature}
        reply = await self._http.request("POST", "/api/v5/robotLogic/sign-token", json=body, headers=_HEADERS)
        page = parse_body(reply)
        if not isinstance(page, dict):
            raise SendRefused("Yuanbao answers without a result.", kind="unknown")
        return page

    def authorize(self, token: str) -> dict[str, dict[str, str]]:
        return {"headers": {**_HEADERS, "X-ID": self.bot_id, "X-Token": token, "X-Source": self.source}}

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        """The `data` of an answer."""
        if reply.status_code == 401:
            raise TokenExpired
        if not reply.is_success:
            raise self._http.to_error(reply)
        return read_object(_CODES.check(parse_body(reply)), "data")

    async def upload(self, file: File) -> str:
        """Puts a file into the storage, with keys that Yuanbao lends, and gives its address. SendRefused."""
        if len(file.data) > _MAX_FILE_BYTES:
            raise SendRefused("The file is too large for Yuanbao.", kind="too_long")
        about = {"fileName": file.name or "file", "fileId": secrets.token_hex(16)}
        grant = await self.call(
            "POST", "/api/resource/genUploadInfo", json={**about, "docFrom": "localDoc", "docOpenId": ""}
        )
        base, path = self._build_upload_address(grant)
        headers = {"Content-Type": file.media_type or "application/octet-stream"}
        key = StorageKey(
            id=read_text(grant, "encryptTmpSecretId"),
            secret=read_text(grant, "encryptTmpSecretKey"),
            token=read_text(grant, "encryptToken"),
            begins_at=read_code(grant, "startTime") or 0,
            ends_at=read_code(grant, "expiredTime") or 0,
        )
        headers |= sign_upload(key, urlsplit(base).netloc, path, len(file.data))
        await self._storage.request("PUT", f"{base}{quote(path)}", content=file.data, headers=headers)
        url = read_text(grant, "resourceUrl")
        if not url:
            raise SendRefused("Yuanbao did not accept the file.", kind="unknown")
        return url

    def _build_upload_address(self, grant: Mapping[str, Any]) -> tuple[str, str]:
        bucket, region, key = (read_text(grant, name) for name in ("bucketName", "region", "location"))
        if not key or not all(re.fullmatch(r"[a-z0-9-]{1,64}", one) for one in (bucket, region)):
            raise SendRefused("Yuanbao names no place for the file.", kind="unknown")
        return self._settings.upload_url.format(bucket=bucket, region=region), f"/{key.removeprefix('/')}"

    async def download(self, url: str, name: str) -> File:
        """A file of a message. Some addresses are names that the API exchanges. SendRefused, PlatformDown."""
        address = urlsplit(url)
        resource = parse_qs(address.query).get("resourceId", [""])[0] if address.path == _DOWNLOAD_PATH else ""
        if resource:
            page = await self.call("GET", "/api/resource/v1/download", params={"resourceId": resource})
            url = read_text(page, "url") or read_text(page, "realUrl")
        return await self._downloads.fetch(url, name=name)

    async def close(self) -> None:
        await super().close()
        await self._storage.close()
        await self._downloads.close()
