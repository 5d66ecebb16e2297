"""Characters of a text message: one that is not in the alphabet GSM-7 more than doubles what the message costs."""

from __future__ import annotations

_GSM7 = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
    "\f^{}\\[~]|€"  # two characters each
)
_PLAIN_FORMS = str.maketrans("“”„«»‘’‚`–—‑−•·\u00a0\u202f\t", '"' * 5 + "'" * 4 + "-" * 6 + " " * 3, "\u200b")


def is_gsm7(text: str) -> bool:
    return _GSM7.issuperset(text)


def simplify_characters(text: str) -> str:
    """Writes typographic characters plainly, if GSM-7 then has them all; else the text stays as it is."""
    plain = text.translate(_PLAIN_FORMS).replace("…", "...").replace("→", "->")
    return plain if is_gsm7(plain) else text
