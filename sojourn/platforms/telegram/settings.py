"""What can be set under [plugins.telegram]."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret

NAME = "telegram"
TOKEN_VARIABLE = "SOJOURN_TELEGRAM_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramSettings:
    """The bot, and where its Bot API server is."""

    token: Secret  # from @BotFather
    base_url: str = "https://api.telegram.org"  # or a Bot API server of your own
    poll_seconds: int = 30  # how long one question for news waits
    answer_seconds: float = 20.0  # how long sending may take before the line counts as lost
