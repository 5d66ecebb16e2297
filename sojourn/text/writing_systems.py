"""Writing systems: which characters belong to scripts that are written without spaces."""

from __future__ import annotations

from sojourn.text.lazy_pattern import LazyPattern

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"  # Jamo, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"  # Han, Hangul
    "\U00020000-\U0003134f"
)
_IS_UNSPACED = LazyPattern(f"[{UNSPACED}]")


def is_unspaced(character: str) -> bool:
    """Whether the character belongs to a script that is written without spaces."""
    return character > "\u0dff" and _IS_UNSPACED.compiled.match(character) is not None
