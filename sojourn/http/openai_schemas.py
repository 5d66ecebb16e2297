"""The shapes of OpenAI's chat API, as far as they mean something here. What we do not know is passed over."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.messages import Message, ToolCall, assistant
from sojourn.http.completion_turn import Completion
from sojourn.http.prompt_messages import (
    CallPrompt,
    InlineFile,
    PromptMessage,
    build_prompt,
    parse_data_address,
    refuse_client_tools,
    refuse_format,
    refuse_more_than_one,
)

_ROLES = {"developer": "system", "function": "tool"}


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

    def to_prompt(self) -> PromptMessage:
        parts = self.content if isinstance(self.content, list) else []
        files = tuple(found for part in parts if (found := _parse_file(part)) is not None)
        return PromptMessage(message=self._to_message(), text=self.text(), files=files)

    def _to_message(self) -> Message:
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
    """A call. `temperature` and the like are passed over: the agent has its own."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(min_length=1, max_length=400, description="`default`, or an id of /v1/models.")
    messages: list[CompletionMessage] = Field(min_length=1, max_length=5000)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    tools: list[Any] | None = Field(default=None, description="Refused unless `tool_choice` is `none`.")
    functions: list[Any] | None = Field(default=None, description="Refused.")
    tool_choice: Any = None
    response_format: dict[str, Any] | None = Field(default=None, description="`text`; any other is refused.")
    n: int | None = Field(default=None, description="1; more are refused.")

    def to_prompt(self) -> CallPrompt:
        """BadInput for what an agent cannot do."""
        refuse_client_tools(self.tools or self.functions, self.tool_choice)
        refuse_format(self.response_format)
        refuse_more_than_one(self.n)
        return build_prompt(one.to_prompt() for one in self.messages)


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
    return parse_data_address(inner.get("url") or inner.get("file_data"), inner.get("filename"))


class OpenAIModel(BaseModel):
    """A model, with the fields of OpenAI's and of Anthropic's API."""

    id: str
    object: str = "model"
    created: int = 0
    owned_by: str
    type: str = "model"
    display_name: str
    created_at: str = "1970-01-01T00:00:00Z"


class OpenAIModelList(BaseModel):
    """What can be asked for as `model`."""

    object: str = "list"
    data: list[OpenAIModel]
    has_more: bool = False
    first_id: str | None = None
    last_id: str | None = None


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


class ChatCompletion(BaseModel):
    """A whole answer."""

    id: str
    object: str = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


def usage_of(completion: Completion) -> CompletionUsage:
    given, made = completion.usage("input_tokens"), completion.usage("output_tokens")
    return CompletionUsage(prompt_tokens=given, completion_tokens=made, total_tokens=given + made)


def build_completion(model: str, completion: Completion) -> ChatCompletion:
    choice = CompletionChoice(message=CompletionReply(content=completion.text))
    return ChatCompletion(
        id=f"chatcmpl-{completion.turn.id}",
        created=int(time.time()),
        model=model,
        choices=[choice],
        usage=usage_of(completion),
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
