"""Signs in to Weixin: a person scans a QR code with the WeChat app, which makes the bot and gives its token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2

from sojourn.core.errors import BadInput, PlatformDown
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.weixin import BASE_URL, TOKEN_VARIABLE
from sojourn.platforms.weixin.api import build_headers
from sojourn.ports.plugin import SignInStep

_BOT_TYPE = "3"
_HOSTS = ("weixin.qq.com", "wechat.com")
_MAX_CODES = 3  # one after the other, as each expires
_MAX_SECONDS = 480.0  # for all of it
_POLL_SECONDS = 40.0  # Weixin answers after about 35
_PAUSE_SECONDS = 1.0
_ENDS = ("confirmed", "binded_redirect", "expired", "verify_code_blocked")  # what may become of a code


async def sign_in(given: Mapping[str, Any]) -> AsyncGenerator[SignInStep, str]:
    """Yields a code to scan, and another one when it expires; then what to keep. PlatformDown, BadInput."""
    base_url, deadline = str(given.get("base_url") or BASE_URL), time.monotonic() + _MAX_SECONDS
    for _ in range(_MAX_CODES):
        page = await _fetch(base_url, "POST", "get_bot_qrcode", {"bot_type": _BOT_TYPE}, {"local_token_list": []})
        code, link = read_text(page, "qrcode"), read_text(page, "qrcode_img_content")
        if not code or not link:
            raise PlatformDown("Weixin gives no code to scan.")
        yield SignInStep(text="Scan this code with the WeChat app, and confirm there.", scan=link)
        host, answer, was_scanned = base_url, "", False
        while (page := await _ask_status(host, code, answer, deadline)).get("status") not in _ENDS:
            status = page.get("status")
            if status == "need_verifycode":
                words = "These are not the digits that WeChat shows." if answer else "WeChat shows some digits."
                answer = (yield SignInStep(text=f"{words} Type them in.", has_question=True)).strip()
                continue
            if status == "scaned" and not was_scanned:
                was_scanned, answer = True, ""
                yield SignInStep(text="Scanned. Confirm it in WeChat.")
            elif status == "scaned_but_redirect":
                host = _check_host(f"https://{read_text(page, 'redirect_host')}", base_url)
            await asyncio.sleep(_PAUSE_SECONDS)
        if page.get("status") == "confirmed":
            yield SignInStep(text="WeChat is connected.", settings=_read_settings(page, base_url))
            return
        if page.get("status") == "binded_redirect":
            hint = "Remove the bot in WeChat, or keep the token that it has."
            raise BadInput("This WeChat account has a bot that is connected already.", hint=hint)
    raise PlatformDown("No code was confirmed in time.", hint="Begin again.")


async def _ask_status(base_url: str, code: str, answer: str, deadline: float) -> dict[str, Any]:
    """What became of a code. A network error is waited out, as the person has the code before them."""
    if time.monotonic() > deadline:
        raise PlatformDown("No code was confirmed in time.", hint="Begin again.")
    asked = {"qrcode": code} | ({"verify_code": answer} if answer else {})
    try:
        return await _fetch(base_url, "GET", "get_qrcode_status", asked, None)
    except PlatformDown:
        return {}


async def _fetch(
    base_url: str, method: str, name: str, asked: Mapping[str, str], body: Mapping[str, Any] | None
) -> dict[str, Any]:
    client = RestClient("Weixin", base_url, key=TOKEN_VARIABLE)
    try:
        reply = await client.exchange(
            method,
            f"/ilink/bot/{name}",
            params=asked,
            json=body,
            headers=build_headers(),
            timeout=httpx2.Timeout(_POLL_SECONDS, connect=10.0),
        )
    finally:
        await client.close()
    page = parse_body(reply)
    if not reply.is_success or not isinstance(page, dict):
        raise PlatformDown(f"Weixin says: {reply.status_code}.")
    return page


def _read_settings(page: Mapping[str, Any], base_url: str) -> dict[str, str]:
    token, account = read_text(page, "bot_token"), read_text(page, "ilink_bot_id")
    if not token or not account:
        raise PlatformDown("Weixin confirms the code, but gives no token.", hint="Begin again.")
    address = _check_host(read_text(page, "baseurl") or base_url, base_url)
    found = {"token": token, "account_id": account, "owner_id": read_text(page, "ilink_user_id"), "base_url": address}
    return {name: value for name, value in found.items() if value}


def _check_host(address: str, base_url: str) -> str:
    """An address that Weixin names, if it is Weixin's: the token will be sent there."""
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    is_vendor = any(url.host == host or url.host.endswith(f".{host}") for host in _HOSTS)
    is_known = url.scheme == "https" and is_vendor and url.port is None and not url.userinfo
    if is_known or address.rstrip("/") == base_url.rstrip("/"):
        return address.rstrip("/")
    raise PlatformDown("Weixin names a server that is not its own.")
