"""Translates errors of Discord and its library into ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from discord import (
    ConnectionClosed,
    DiscordException,
    Forbidden,
    GatewayNotFound,
    HTTPException,
    LoginFailure,
    NotFound,
    RateLimited,
)
from discord.gateway import ReconnectWebSocket

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused, SojournError
from sojourn.platforms.discord import TOKEN_VARIABLE

_BAD_TOKEN_CODE, _BAD_INTENT_CODES = 4004, (4013, 4014)  # close codes of the gateway
_RETRY_HINT = "It is retried automatically."


def _bad_token_error() -> SojournError:
    hint = f"Set {TOKEN_VARIABLE} to the bot's token from the developer portal."
    return KeyRefused("Discord does not accept this bot token.", hint=hint)


def translate_error(error: Exception) -> SojournError:
    """Translates one exception."""
    match error:
        case LoginFailure():
            return _bad_token_error()
        case ConnectionClosed(code=code) if code == _BAD_TOKEN_CODE:
            return _bad_token_error()
        case ConnectionClosed(code=code) if code in _BAD_INTENT_CODES:
            hint = "Switch on “Message Content Intent” for the bot in the developer portal, under Bot."
            return KeyRefused("Discord does not let this bot read messages.", hint=hint)
        case RateLimited(retry_after=seconds):
            return SendRefused(f"Discord asks to wait {seconds:g} seconds.", kind="rate_limited", retry_after=seconds)
        case HTTPException(status=status) if status < 500:
            return _translate_response(error)
        case ReconnectWebSocket() | ConnectionClosed() | GatewayNotFound():
            return PlatformDown("The connection to Discord was lost.", hint="It reconnects automatically.")
        case _:
            return PlatformDown(f"Discord does not answer: {str(error) or type(error).__name__}.", hint=_RETRY_HINT)


def _translate_response(error: HTTPException) -> SojournError:
    text = f"Discord: {error.text or error.response.reason} ({error.code or error.status})."
    if error.status == 401:
        return _bad_token_error()
    if error.status == 429:
        wait = error.response.headers.get("Retry-After", "")
        seconds = float(wait) if wait.replace(".", "", 1).isdecimal() else None
        return SendRefused(text, kind="rate_limited", retry_after=seconds)
    if isinstance(error, Forbidden):
        return SendRefused(text, kind="forbidden", hint="Check the bot's permissions in that channel.")
    if isinstance(error, NotFound):
        return SendRefused(text, kind="not_found")
    return SendRefused(text, kind="too_long" if "or fewer in length" in error.text else "unknown")


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    try:
        yield
    except (DiscordException, ReconnectWebSocket, aiohttp.ClientError, OSError, TimeoutError) as error:
        raise translate_error(error) from error
