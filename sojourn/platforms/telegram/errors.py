"""What Telegram answers when it does not do something, in our words."""

from __future__ import annotations

import json
import logging
from typing import Any

from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, TelegramError
from telegram.request import HTTPXRequest

from sojourn.core.errors import KeyRefused, PlatformDown, Refusal, SendRefused, SojournError
from sojourn.platforms.telegram import TOKEN_VARIABLE

# Telegram tells these apart by words alone.
_WORDS: tuple[tuple[str, Refusal], ...] = (
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
_URL_LOGGERS = ("httpx", "telegram.Bot")  # the loggers that tell addresses


class FloodWait(TelegramError):
    """Too much at once. (The library's own error of this kind warns whoever looks at its seconds.)"""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Too many requests; {seconds:g} seconds to wait.")
        self.seconds = seconds


class TelegramRequest(HTTPXRequest):
    """The library's line, with the waiting time of a refused request read here."""

    async def do_request(self, *args: Any, **named: Any) -> tuple[int, bytes]:
        code, body = await super().do_request(*args, **named)
        if code == 429:
            try:
                seconds = float(json.loads(body)["parameters"]["retry_after"])
            except (ValueError, KeyError, TypeError):
                seconds = 1.0
            raise FloodWait(seconds)
        return code, body


class TokenLogFilter(logging.Filter):
    """Keeps the token, which is part of every address, out of the log."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def enter(self) -> None:
        for name in _URL_LOGGERS:
            logging.getLogger(name).addFilter(self)

    def leave(self) -> None:
        for name in _URL_LOGGERS:
            logging.getLogger(name).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if self._token in (said := record.getMessage()):
            record.msg, record.args = said.replace(self._token, "•••"), ()
        return True


def classify_refusal(error: TelegramError) -> Refusal:
    if isinstance(error, FloodWait):
        return "rate_limited"
    if isinstance(error, Forbidden):
        return "forbidden"
    if isinstance(error, ChatMigrated):
        return "not_found"
    said = error.message.lower()
    return next((kind for words, kind in _WORDS if words in said), "unknown")


def translate_error(error: TelegramError) -> SojournError:
    """The same, as an error of ours."""
    if isinstance(error, InvalidToken):
        return KeyRefused(
            "Telegram does not know this bot token.", hint=f"Set {TOKEN_VARIABLE} to the one of @BotFather."
        )
    if isinstance(error, Conflict):
        return PlatformDown(
            "Another program is listening with this bot token.", hint="Stop it, or give Sojourn a bot of its own."
        )
    if isinstance(error, ChatMigrated):
        hint = f"Use {error.new_chat_id} instead."
        return SendRefused("The group has become a supergroup with another number.", kind="not_found", hint=hint)
    if isinstance(error, FloodWait):
        return SendRefused(f"Telegram: {error.message}", kind="rate_limited", retry_after=error.seconds)
    if isinstance(error, BadRequest | Forbidden):
        return SendRefused(f"Telegram: {error.message}.", kind=classify_refusal(error))
    return PlatformDown(f"Telegram does not answer: {error.message}.", hint="It is tried again by itself.")
