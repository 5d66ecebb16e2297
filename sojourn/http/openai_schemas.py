"""The shapes of OpenAI's chat API, as far as they mean something here. What we do not know is passed over."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import BadInput
from sojourn.core.events import Done
from sojourn.core.messages import Message, ToolCall, assistant
from sojourn.http.json_safe import to_number
from sojourn.http.turns import decode_base64

_ROLES = {"developer": "system", "function": "tool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineFile:
    """A file that came inside a message."""

    data: bytes
    media_type: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionInput:
    """A call's messages: what was said before, and what is said now."""

    earlier: tuple[Message, ...]
    text: str
    files: tuple[InlineFile, ...] = ()


class CompletionMessage(BaseModel):
    """One message of a call."""

    model_config = ConfigDict(extra="allow")
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None

    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        found = (part.get("text") or part.get("refusal") for part in self.content or [])
        return "\n".join(text for text in found if isinstance(text, str))

    def files(self) -> list[InlineFile]:
        parts = self.content if isinstance(self.content, list) else []
        return [found for part in parts if (found := _parse_file(part)) is not None]

    def message(self) -> Message:
        """As it is kept."""
        if self.role == "assistant":
            return assistant(
                self.text() or None, [call for raw in self.tool_calls or [] if (call := _parse_tool_call(raw))]
            )
        role = _ROLES.get(self.role, self.role)
        return Message(role=role, content=self.text(), tool_call_id=self.tool_call_id, tool_name=self.name)


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="allow")
    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """A call. `tools`, `temperature` and the rest may be there; the agent has its own."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(min_length=1, max_length=400, description="`default`, or an id of /v1/models.")
    messages: list[CompletionMessage] = Field(min_length=1, max_length=5000)
    stream: bool | None = False
    stream_options: StreamOptions | None = None

    def to_input(self) -> CompletionInput:
        *before, last = self.messages
        if last.role != "user":
            raise BadInput(f"The last message is of {last.role!r}.", hint="The last message must be the user's.")
        files = tuple(last.files())
        if not last.text().strip() and not files:
            raise BadInput("The last message is empty.", hint="Give it some text.")
        return CompletionInput(
            earlier=_drop_orphan_results([one.message() for one in before]), text=last.text(), files=files
        )


def _drop_orphan_results(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Results without a call before them are left out: no model takes them."""
    called: set[str] = set()
    kept: list[Message] = []
    for message in messages:
        if message.role == "tool" and message.tool_call_id not in called:
            continue
        if message.tool_calls:
            called |= {str(one.get("id")) for one in json.loads(message.tool_calls)}
        kept.append(message)
    return tuple(kept)


def _parse_tool_call(raw: Mapping[str, Any]) -> ToolCall | None:
    function = raw.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    return ToolCall(id=str(raw.get("id", "")), name=function["name"], arguments=str(function.get("arguments", "{}")))


def _parse_file(part: Mapping[str, Any]) -> InlineFile | None:
    """A picture or file of a message. Only what came along: we fetch nothing for a caller."""
    inner = part.get("image_url") if part.get("type") == "image_url" else part.get("file")
    if part.get("type") not in ("image_url", "file") or not isinstance(inner, dict):
        return None
    address = inner.get("url") or inner.get("file_data")
    if not isinstance(address, str) or not address.startswith("data:"):
        raise BadInput("A picture or file must come as a `data:` address.", hint="Put its bytes there in base64.")
    head, _, body = address.removeprefix("data:").partition(",")
    kind = head.partition(";")[0] or "application/octet-stream"
    return InlineFile(data=decode_base64(body), media_type=kind, name=str(inner.get("filename") or "")[:255])


class OpenAIModel(BaseModel):
    id: str
    object: str = "model"
    created: int = 0
    owned_by: str


class OpenAIModelList(BaseModel):
    """What can be asked for as `model`."""

    object: str = "list"
    data: list[OpenAIModel]


class CompletionUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class CompletionReply(BaseModel):
    role: str = "assistant"
    content: str


class CompletionChoice(BaseModel):
    index: int = 0
    message: CompletionReply
    finish_reason: str = "stop"


class Completion(BaseModel):
    """A whole answer."""

    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


def usage_of(done: Done) -> CompletionUsage:
    given, made = (int(to_number(done.usage.get(name)) or 0) for name in ("input_tokens", "output_tokens"))
    return CompletionUsage(prompt_tokens=given, completion_tokens=made, total_tokens=given + made)


def build_completion(turn: str, model: str, text: str, done: Done) -> Completion:
    choice = CompletionChoice(message=CompletionReply(content=text))
    return Completion(
        id=f"chatcmpl-{turn}", created=int(time.time()), model=model, choices=[choice], usage=usage_of(done)
    )


def build_chunk(
    turn: str, model: str, now: int, delta: Mapping[str, Any] | None, finish: str | None = None
) -> dict[str, Any]:
    """One piece of a streamed answer; without a delta, the piece that only carries the usage."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion.chunk",
        "created": now,
        "model": model,
        "choices": choices,
    }
