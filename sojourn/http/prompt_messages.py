"""CallPrompt: what a call of `/v1` says, whichever protocol it came in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.messages import Message, user
from sojourn.http.turns import decode_base64

_FILE_HINT = "Put its bytes there in base64."


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineFile:
    """A file that came inside a message."""

    data: bytes
    media_type: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptMessage:
    """One message of a call: as it is kept, and with its files."""

    message: Message
    text: str
    files: tuple[InlineFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPrompt:
    """A call's messages: what was said before, and what is said now."""

    earlier: tuple[PromptMessage, ...]
    last: PromptMessage

    @property
    def text(self) -> str:
        return self.last.text


class TranscriptHash:
    """A running hash over the messages of a transcript, as its sender sees it."""

    def __init__(self, scope: str) -> None:
        self.value = hashlib.sha256(scope.encode()).hexdigest()

    def add(self, one: PromptMessage) -> TranscriptHash:
        message = one.message
        files = [hashlib.sha256(file.data).hexdigest() for file in one.files]
        return self._add([message.role, _normalise(one.text), files, message.tool_calls, message.tool_call_id])

    def add_answer(self, text: str) -> TranscriptHash:
        """Adds our own answer, as a client sends it back."""
        return self._add(["assistant", _normalise(text), [], None, None])

    def _add(self, parts: Sequence[Any]) -> TranscriptHash:
        self.value = hashlib.sha256(f"{self.value}{json.dumps(parts)}".encode()).hexdigest()
        return self


def _normalise(text: str) -> str:
    """A text without what clients change: the ends, and the form of line breaks."""
    return text.replace("\r\n", "\n").strip()


def build_prompt(messages: Iterable[PromptMessage]) -> CallPrompt:
    """The prompt of a list of messages. BadInput unless the last one is the user's and says something."""
    *before, last = [*messages] or [PromptMessage(message=user(""), text="")]
    if last.message.role != "user":
        raise BadInput(f"The last message is of {last.message.role!r}.", hint="The last message must be the user's.")
    if not last.text.strip() and not last.files:
        raise BadInput("The last message is empty.", hint="Give it some text.")
    return CallPrompt(earlier=_drop_orphan_results(before), last=last)


def _drop_orphan_results(messages: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
    """Results without a call before them are left out: no model takes them."""
    called: set[str] = set()
    kept: list[PromptMessage] = []
    for one in messages:
        if one.message.role == "tool" and one.message.tool_call_id not in called:
            continue
        if one.message.tool_calls:
            called |= {str(call.get("id")) for call in json.loads(one.message.tool_calls)}
        kept.append(one)
    return tuple(kept)


def parse_data_address(address: object, name: object = "") -> InlineFile:
    """The file in a `data:` address. Only what came along: we fetch nothing for a caller. BadInput."""
    if not isinstance(address, str) or not address.startswith("data:"):
        raise BadInput("A picture or file must come as a `data:` address.", hint=_FILE_HINT)
    head, _, body = address.removeprefix("data:").partition(",")
    kind = head.partition(";")[0] or "application/octet-stream"
    return InlineFile(data=decode_base64(body), media_type=kind, name=str(name or "")[:255])


def refuse_client_tools(tools: object, choice: object = None) -> None:
    """BadInput for tools that a client brings and wants to be used."""
    if tools and choice not in ("none", {"type": "none"}):
        raise BadInput(
            "The agent here has tools of its own and cannot call yours.",
            hint='Leave `tools` out, or set `tool_choice` to "none".',
        )


def refuse_more_than_one(number: object) -> None:
    if isinstance(number, int) and number > 1:
        raise BadInput(f"{number} answers were asked for.", hint="There is one answer to a call; leave `n` out.")


def refuse_format(format: object) -> None:
    """BadInput for an answer that has to have a form of the client's own."""
    kind = format.get("type") if isinstance(format, Mapping) else None
    if kind not in (None, "text"):
        raise BadInput(
            f"Answers in the form {kind!r} are not to be had: an agent answers in text.",
            hint="Leave it out, and ask for JSON in the message.",
        )
