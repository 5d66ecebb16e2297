"""Segments of a text message: what networks bill, and why one odd character can more than double it.

In the alphabet GSM-7 a segment has 160 characters, 153 if there are several; with any other character the whole message
is UCS-2, with 70 or 67 UTF-16 units.
"""

from __future__ import annotations

import math

_GSM7 = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_GSM7_EXTENDED = frozenset("\f^{}\\[~]|€")  # two characters each
_PLAIN_FORMS = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "‘": "'",
        "’": "'",
        "‚": "'",
        "–": "-",
        "—": "-",
        "‑": "-",
        "−": "-",
        "…": "...",
        "•": "-",
        "·": "-",
        "→": "->",
        "`": "'",
        "\u00a0": " ",
        "\u202f": " ",
        "\u200b": "",
        "\t": " ",
    }
)


def is_gsm7(text: str) -> bool:
    return _GSM7.union(_GSM7_EXTENDED).issuperset(text)


def count_segments(text: str) -> int:
    """How many segments a text becomes."""
    if is_gsm7(text):
        size, single, several = len(text) + sum(char in _GSM7_EXTENDED for char in text), 160, 153
    else:
        size, single, several = len(text.encode("utf-16-le", "surrogatepass")) // 2, 70, 67
    return max(1, math.ceil(size / several)) if size > single else 1


def simplify_characters(text: str) -> str:
    """Writes typographic characters plainly, if GSM-7 then has them all; else the text stays as it is."""
    plain = text.translate(_PLAIN_FORMS)
    return plain if is_gsm7(plain) else text
