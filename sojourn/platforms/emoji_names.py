"""Names of emoji in Slack and Mattermost."""

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
_VARIATION_SELECTOR = "\ufe0f"  # U+FE0F after some emoji; carries no meaning here


def emoji_name(emoji: str) -> str:
    """Returns the name of an emoji; other input is taken as a name: `seedling` or `:seedling:`."""
    return _NAMES.get(emoji.removesuffix(_VARIATION_SELECTOR), emoji.strip(":"))
