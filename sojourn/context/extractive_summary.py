"""Extractive summary, without a model: the requests, and the highest-ranked sentences of the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from sojourn.context.stemming import stem_words
from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.text.token_count import estimate_tokens, truncate_to_tokens

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_MAX_REQUEST_TOKENS = 40  # of one request


def split_sentences(text: str) -> list[str]:
    """Returns the sentences of a text, without code blocks."""
    plain = re.sub(r"```.*?(```|$)", " ", text, flags=re.DOTALL)
    found = (hit[0].strip(" \t#*->|") for hit in _SENTENCE.finditer(plain))
    return [one for one in found if len(stem_words(one)) >= 2]


def extract_summary(messages: Sequence[Message], most: int) -> str:
    """Summarises a conversation in at most `most` tokens: half for the requests, half for sentences of the answers."""
    asked = [
        truncate_to_tokens(" ".join(text_of(one).split()), _MAX_REQUEST_TOKENS)
        for one in messages
        if one.role == "user" and text_of(one)
    ]
    used = Counter(call.name for one in messages for call in tool_calls_of(one))
    head = _take_lines([f"- {one}" for one in reversed(asked)], most // 2)[::-1]  # the newest ones, if not all fit
    tail = _main_sentences(messages, most - estimate_tokens("\n".join(head)) - 40)
    parts = ["Asked so far:", *head]
    if tail:
        parts += ["Main points of the answers:", *(f"- {one}" for one in tail)]
    if used:
        parts.append("Tools used: " + ", ".join(f"{name} ×{times}" for name, times in used.most_common(8)))
    return truncate_to_tokens("\n".join(parts), most)


def _take_lines(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _main_sentences(messages: Sequence[Message], room: int) -> list[str]:
    """Returns the sentences with the most significant words of this conversation, in their order."""
    said = [one for message in messages if message.role == "assistant" for one in split_sentences(text_of(message))]
    said = list(dict.fromkeys(said))
    having = Counter(word for one in said for word in set(stem_words(one)))
    weights = {word: times * log(1 + len(said) / times) for word, times in having.items()}

    def weight(sentence: str) -> float:
        found = set(stem_words(sentence))
        return sum(weights[word] for word in found) / (5 + len(found))

    chosen = set(_take_lines(sorted(said, key=weight, reverse=True), room))
    return [one for one in said if one in chosen]
