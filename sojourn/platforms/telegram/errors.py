"""Translates errors of Telegram and its library into ours, and keeps the token out of the log."""

from __future__ import annotations

import json
import logging
from typing import Any

from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, TelegramError, TimedOut
from telegram.request import HTTPXRequest

from sojourn.core.errors import KeyRefused, MissingPackage, PlatformDown, Refusal, SendRefused, SojournError
from sojourn.platforms.telegram import TOKEN_VARIABLE

# Telegram distinguishes these only by their text.
_REFUSAL_TEXTS: tuple[tuple[str, Refusal], ...] = (
    ("too long", "too_long"),
    ("can't parse entities", "bad_format"),
    ("unsupported start tag", "bad_format"),
    ("not found", "not_found"),
    ("topic_deleted", "not_found"),
    ("topic_closed", "forbidden"),
    ("not enough rights", "forbidden"),
    ("have no rights", "forbidden"),
    ("chat_write_forbidden", "forbidden"),
    ("need administrator rights", "forbidden"),
)
_URL_LOGGERS = ("httpx", "telegram.Bot")  # loggers that write URLs


class FloodWait(TelegramError):
    """Rate limited. The library's own error emits a deprecation warning when its seconds are read."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Too many requests; {seconds:g} seconds to wait.")
        self.seconds = seconds


class TelegramRequest(HTTPXRequest):
    """The library's HTTP client; reads the waiting time of a rate-limited request."""

    async def do_request(self, *args: Any, **options: Any) -> tuple[int, bytes]:
        code, body = await super().do_request(*args, **options)
        if code == 429:
            try:
                seconds = float(json.loads(body)["parameters"]["retry_after"])
            except (ValueError, KeyError, TypeError):
                seconds = 1.0
            raise FloodWait(seconds)
        return code, body


def build_request(**options: Any) -> TelegramRequest:
    """MissingPackage if a SOCKS proxy is set that the library cannot speak to."""
    try:
        return TelegramRequest(**options)
    except RuntimeError as error:
        raise MissingPackage("A SOCKS proxy needs one more package.", hint='pip install "httpx[socks]"') from error


class TokenLogFilter(logging.Filter):
    """Removes the token, which is part of every URL, from the log."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def install(self) -> None:
        for name in _URL_LOGGERS:
            logging.getLogger(name).addFilter(self)

    def uninstall(self) -> None:
        for name in _URL_LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if self._token in (text := record.getMessage()):
            record.msg, record.args = text.replace(self._token, "•••"), ()
        return True


def classify_refusal(error: BadRequest | Forbidden) -> Refusal:
    if isinstance(error, Forbidden):
        return "forbidden"
    text = error.message.lower()
    return next((kind for fragment, kind in _REFUSAL_TEXTS if fragment in text), "unknown")


def translate_error(error: TelegramError) -> SojournError:
    """Translates one error."""
    if isinstance(error, InvalidToken):
        hint = f"Set {TOKEN_VARIABLE} to the token from @BotFather."
        return KeyRefused("Telegram does not accept this bot token.", hint=hint)
    if isinstance(error, Conflict):
        hint = "Stop it, or give Sojourn a bot of its own."
        return PlatformDown("Another program is listening with this bot token.", hint=hint)
    if isinstance(error, ChatMigrated):
        hint = f"Use {error.new_chat_id} instead."
        return SendRefused("The group has become a supergroup with another number.", kind="not_found", hint=hint)
    if isinstance(error, FloodWait):
        return SendRefused(f"Telegram: {error.message}", kind="rate_limited", retry_after=error.seconds)
    if isinstance(error, BadRequest | Forbidden):
        return SendRefused(f"Telegram: {error.message}.", kind=classify_refusal(error))
    if isinstance(error, TimedOut) and "pool timeout" in error.message.lower():  # nothing was sent
        return SendRefused("Too many requests to Telegram are waiting.", kind="transient")
    return PlatformDown(f"Telegram does not answer: {error.message}.", hint="It is retried automatically.")
