"""A summary without a model: what was asked, and the sentences that carry most of what was answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from sojourn.context.stemming import words
from sojourn.core.budget import estimate_tokens, truncate_to_tokens
from sojourn.core.messages import Message, calls, text_of

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_ASKED = 40  # tokens of one request that are kept


def sentences(text: str) -> list[str]:
    """The sentences of a text, without code and tables."""
    plain = re.sub(r"```.*?(```|$)", " ", text, flags=re.DOTALL)
    found = (hit[0].strip(" \t#*->|") for hit in _SENTENCE.finditer(plain))
    return [one for one in found if len(words(one)) >= 2]


def extract(messages: Sequence[Message], most: int) -> str:
    """The conversation in at most so many tokens: half for the requests, half for the answers' main sentences."""
    asked = [
        truncate_to_tokens(" ".join(text_of(one).split()), _ASKED)
        for one in messages
        if one.role == "user" and text_of(one)
    ]
    used = Counter(call.name for one in messages for call in calls(one))
    head = _fill([f"- {one}" for one in reversed(asked)], most // 2)[::-1]  # the newest first, if not all fit
    tail = _fill_by_weight(messages, most - estimate_tokens("\n".join(head)) - 40)
    parts = ["Asked so far:", *head]
    if tail:
        parts += ["Main points of the answers:", *(f"- {one}" for one in tail)]
    if used:
        parts.append("Tools used: " + ", ".join(f"{name} ×{times}" for name, times in used.most_common(8)))
    return truncate_to_tokens("\n".join(parts), most)


def _fill(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _fill_by_weight(messages: Sequence[Message], room: int) -> list[str]:
    """Sentences with the words that matter in this conversation, in the order they were said."""
    said = [one for message in messages if message.role == "assistant" for one in sentences(text_of(message))]
    said = list(dict.fromkeys(said))
    having = Counter(word for one in said for word in set(words(one)))
    weights = {word: times * log(1 + len(said) / times) for word, times in having.items()}

    def weight(sentence: str) -> float:
        found = set(words(sentence))
        return sum(weights[word] for word in found) / (5 + len(found))

    chosen = set(_fill(sorted(said, key=weight, reverse=True), room))
    return [one for one in said if one in chosen]
