"""Titles: made from the first request, improved by a runtime that can complete text."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from sojourn.core.errors import BadTitle, RuntimeFailed
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import SessionId
from sojourn.ports.runtime import CanComplete
from sojourn.ports.store import SessionStore
from sojourn.text.redaction import INLINE_CHARS, redact
from sojourn.text.titles import clean_title

_MAX_WORDS, _MAX_CHARS = 8, 60
_TIMEOUT_SECONDS = 30.0
_ASK = "Give this conversation a title of two to six words in its own language. Answer with the title alone."

logger = logging.getLogger(__name__)


def title_from_request(text: str) -> str:
    """Makes a title of the first words of a request; redacted before it is cut, because half a secret is not found."""
    line = next((line for line in redact(text.lstrip()[:INLINE_CHARS]).splitlines() if line.strip()), "")
    words, title = line.strip(" #>*-`\t").split(), ""
    for word in words[:_MAX_WORDS]:
        if len(f"{title} {word}") > _MAX_CHARS:
            break
        title = f"{title} {word}".strip()
    shown = title or (words[0][: _MAX_CHARS - 1] if words else "")
    return shown.rstrip(".,;:!") + ("…" if shown and len(words) > len(title.split()) else "")


async def improve_title(
    store: SessionStore, session: SessionId, runtime: CanComplete, said: Sequence[Message], *, instead_of: str
) -> None:
    """Asks a runtime for a title; keeps the old one if the answer is not usable."""
    talk = "\n\n".join(f"{one.role}: {text_of(one)[:1000]}" for one in said if one.role in ("user", "assistant"))
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            answer = await runtime.complete(_ASK, talk[:4000], most_tokens=30)
        title = clean_title(answer.strip().strip("\"'“”«».#* ").split("\n")[0])
    except (TimeoutError, RuntimeFailed, BadTitle) as error:
        logger.info("no better title for %s: %s", session, error)
        return
    if title and len(title) <= _MAX_CHARS + 20:
        await store.set_title(session, title, instead_of=instead_of)
