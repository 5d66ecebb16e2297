"""Token estimate: how many tokens a text takes, and truncation to a number of tokens.

Every model counts differently and its tokenizer is rarely installed, so this is an estimate. It errs on the high
side, because a text that does not fit is cut or refused. Against the tokenizer of Llama 2, on texts of a few
hundred characters and more (prose, code, JSON, Chinese, Japanese, Russian, German, emoji), it lies between
10 % under and 25 % over; newer models need fewer tokens for scripts other than Latin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import ceil

ELLIPSIS = " …"
MAX_TOKENS_OF_CHARACTER = 6

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
_KANA = "\u3000-\u30ff\uff00-\uffef"
_PIECE = re.compile(
    f"(?P<han>[{_HAN}])|(?P<kana>[{_KANA}])|(?P<latin>[A-Za-z\u00c0-\u024f]+)"
    r"|(?P<letters>[^\W\d_]+)|(?P<space>[ \t]*\n|[ \t]{2,})|(?P<mark>[^\s]|_)"
)
_PIECE_TOKENS = {"han": 1.42, "kana": 1.0, "space": 1.0}


_WORD, _SPACE = re.compile("[A-Za-z]+"), re.compile(r"[ \t]*\n|[ \t]{2,}")
_SHORT_COSTS = (0.0, 1.0, 1.0, 1.0, 1.0, 1.15, 1.15, 1.4, 1.4, 1.9, 1.9)  # of words, by length
_DIGITS = 6  # that count: sums of fractions differ in the last ones
_SAMPLES, _SAMPLE_CHARS = 8, 4000  # of a text that is longer than all of them together


def estimate_tokens(text: str) -> int:
    """Counts the pieces of a text; of a very long one, those of evenly spaced samples."""
    if len(text) <= _SAMPLE_CHARS:
        return ceil(round(_count_cached(text), _DIGITS))
    if len(text) <= _SAMPLES * _SAMPLE_CHARS:
        return ceil(round(_count(text), _DIGITS))
    step = (len(text) - _SAMPLE_CHARS) // (_SAMPLES - 1)
    samples = [text[n * step : n * step + _SAMPLE_CHARS] for n in range(_SAMPLES)]
    return ceil(sum(map(_count, samples)) * len(text) / (_SAMPLES * _SAMPLE_CHARS))


def _count(text: str) -> float:
    return _count_ascii(text) if text.isascii() else sum(cost for _, cost in _piece_costs(text))


_count_cached = lru_cache(maxsize=2048)(_count)  # the same history is counted in each turn


def _count_ascii(text: str) -> float:
    """What `_piece_costs` adds up to, without looking at each piece."""
    words: list[str] = _WORD.findall(text)
    mixed = [word for word in words if not word.islower()]
    digits = sum(map(text.count, "0123456789"))
    signs = sum(map(len, text.split())) - sum(map(len, words)) - digits
    spaces = len(_SPACE.findall(text))
    camel = sum(word[1:] != word[1:].lower() for word in mixed)
    return sum(map(_cost_of_length, map(len, words))) + 0.6 * camel + 1.1 * digits + signs + spaces


def truncate_to_tokens(text: str, max_tokens: int) -> str:
    """Returns the beginning of a text that takes at most `max_tokens`; a shortened text ends in an ellipsis."""
    if MAX_TOKENS_OF_CHARACTER * len(text) <= max_tokens:
        return text
    left = max_tokens - estimate_tokens(ELLIPSIS)
    end, spent = 0, 0.0
    for place, cost in _piece_costs(text):
        spent += cost
        if spent <= left:
            end = place
        if ceil(spent) > max_tokens:
            break
    else:
        return text
    end = _back_to_word(text, end)
    return text[:end].rstrip() + ELLIPSIS if text[:end].strip() else ""


def _back_to_word(text: str, end: int) -> int:
    """Moves `end` back to the last white space, if that is near, so that no word is cut in half."""
    near = max(text.rfind(" ", max(0, end - 40), end), text.rfind("\n", max(0, end - 40), end))
    is_inside = end < len(text) and text[end].isalnum() and text[end].isascii()
    return near if near > 0 and is_inside else end


def _piece_costs(text: str) -> Iterator[tuple[int, float]]:
    """Yields where each piece of a text ends, and its tokens."""
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup or ""
        yield piece.end(), _PIECE_TOKENS.get(kind) or _piece_cost(kind, piece[0])


def _piece_cost(kind: str, piece: str) -> float:
    if kind == "latin":
        return _word_cost(piece)
    if kind == "letters":
        return len(piece) / 2.1 + 0.2
    if piece.isascii():
        return 1.1 if piece.isdigit() else 1.0
    return 5.0 if ord(piece) > 0xFFFF else 2.4  # emoji are spelled in bytes


def _word_cost(piece: str) -> float:
    inner, cost = piece[1:], _cost_of_length(len(piece))
    if inner != inner.lower():
        cost += 0.6  # camelCase is several words
    return cost if piece.isascii() else cost + sum(not letter.isascii() for letter in piece)


def _cost_of_length(length: int) -> float:
    return _SHORT_COSTS[length] if length < len(_SHORT_COSTS) else length / 4.2
