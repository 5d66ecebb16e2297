"""Translates errors of Slack and its library into ours."""

from __future__ import annotations

from typing import Any

from slack_sdk.errors import SlackApiError

from sojourn.core.errors import KeyRefused, PlatformDown, Refusal, SendRefused, SojournError
from sojourn.platforms.slack import APP_TOKEN_VARIABLE, TOKEN_VARIABLE

_KEYS = {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}
_KINDS: dict[str, Refusal] = {
    "msg_too_long": "too_long",
    "msg_blocks_too_long": "too_long",
    "invalid_name": "bad_format",
    "invalid_blocks": "bad_format",
    "invalid_arguments": "bad_format",
    "channel_not_found": "not_found",
    "message_not_found": "not_found",
    "thread_not_found": "not_found",
    "user_not_found": "not_found",
    "is_archived": "forbidden",
    "not_in_channel": "forbidden",
    "restricted_action": "forbidden",
    "missing_scope": "forbidden",
    "no_permission": "forbidden",
    "method_not_supported_for_channel_type": "forbidden",
    "access_denied": "forbidden",
    "cant_update_message": "forbidden",
    "edit_window_closed": "forbidden",
    "messages_tab_disabled": "forbidden",
    "ratelimited": "rate_limited",
    "rate_limited": "rate_limited",
    "internal_error": "transient",
    "fatal_error": "transient",
    "service_unavailable": "transient",
}
_HINTS = {
    "not_in_channel": "Invite the app: /invite @its-name in that channel.",
    "missing_scope": "Add the scope in the app's settings, and install the app again.",
    "messages_tab_disabled": "Switch on the messages tab under App Home in the app's settings.",
}


def error_code(error: SlackApiError) -> str:
    data = getattr(error.response, "data", None)
    return str(data.get("error") or "") if isinstance(data, dict) else f"HTTP {_status(error)}"


def _status(error: SlackApiError) -> int:
    """The HTTP status, from the response of the library or, if it could not read that, of its HTTP library."""
    answer: Any = error.response
    return int(getattr(answer, "status_code", 0) or getattr(answer, "status", 0))


def classify_refusal(error: SlackApiError) -> Refusal:
    return "rate_limited" if _status(error) == 429 else _KINDS.get(error_code(error), "unknown")


def retry_after(error: SlackApiError) -> float | None:
    """The seconds that Slack asks to wait."""
    wait = error.response.headers.get("Retry-After") if classify_refusal(error) == "rate_limited" else None
    return float(wait) if wait else None


def translate_error(error: SlackApiError, *, app: bool = False) -> SojournError:
    """Translates one error; `app`: it concerns the token for Socket Mode."""
    code = error_code(error)
    if code in _KEYS:
        variable, begins = (APP_TOKEN_VARIABLE, "xapp-") if app else (TOKEN_VARIABLE, "xoxb-")
        hint = f"Set {variable} to the app's token that begins with {begins}."
        return KeyRefused(f"Slack does not accept the {'app-level ' if app else 'bot '}token ({code}).", hint=hint)
    if _status(error) >= 500:
        return PlatformDown(f"Slack does not answer properly: {code}.", hint="It is retried automatically.")
    kind, hint = classify_refusal(error), _HINTS.get(code, "")
    return SendRefused(f"Slack: {code}.", kind=kind, retry_after=retry_after(error), hint=hint)
