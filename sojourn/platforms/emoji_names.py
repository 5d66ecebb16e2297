"""What Slack and Mattermost call the signs that people put to messages."""

from __future__ import annotations

_NAMES = {
    "👀": "eyes",
    "👍": "+1",
    "👎": "-1",
    "✅": "white_check_mark",
    "❌": "x",
    "🎉": "tada",
    "🙏": "pray",
    "🤔": "thinking_face",
    "⏳": "hourglass_flowing_sand",
    "❤": "heart",
    "🔥": "fire",
    "👌": "ok_hand",
    "👏": "clap",
    "🚀": "rocket",
    "✍": "writing_hand",
}
_VARIATION_SELECTOR = "\ufe0f"  # stands behind some signs and means nothing here


def emoji_name(sign: str) -> str:
    """The name of an emoji; any other one may be given by its name: `seedling` or `:seedling:`."""
    return _NAMES.get(sign.removesuffix(_VARIATION_SELECTOR), sign.strip(":"))
