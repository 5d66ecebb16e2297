"""The shapes of OpenAI's Responses API, as far as they mean something here. What we do not know is passed over."""

from __future__ import annotations

import time
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import BadInput
from sojourn.core.messages import Message, assistant, user
from sojourn.http.completion_turn import Completion
from sojourn.http.prompt_messages import (
    InlineFile,
    PromptMessage,
    parse_data_address,
    refuse_client_tools,
    refuse_format,
)

_TEXT_PARTS = ("input_text", "output_text", "text", "refusal")
_PASSED_OVER = ("reasoning",)


class TextOptions(BaseModel):
    model_config = ConfigDict(extra="allow")
    format: dict[str, Any] | None = None


class ResponseRequest(BaseModel):
    """A call. `temperature`, `reasoning` and the like are passed over: the agent has its own."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(min_length=1, max_length=400, description="`default`, or an id of /v1/models.")
    input: str | list[dict[str, Any]] = Field(description="A text, or messages; the last one is the user's.")
    instructions: str | None = None
    previous_response_id: str | None = Field(default=None, max_length=400, description="Go on after this answer.")
    stream: bool | None = False
    tools: list[Any] | None = Field(default=None, description="Refused unless `tool_choice` is `none`.")
    tool_choice: Any = None
    text: TextOptions | None = None

    def refuse_unsupported(self) -> None:
        """BadInput for what an agent cannot do."""
        refuse_client_tools(self.tools, self.tool_choice)
        refuse_format(self.text.format if self.text else None)

    def items(self) -> list[dict[str, Any]]:
        first = [{"role": "system", "content": self.instructions}] if self.instructions else []
        said = [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input
        return [*first, *(one for one in said if one.get("type") not in _PASSED_OVER)]


def to_prompt_message(item: dict[str, Any]) -> PromptMessage:
    """A message of the input. BadInput for any other item."""
    role, content = item.get("role"), item.get("content")
    if item.get("type", "message") != "message" or role not in ("user", "assistant", "system", "developer"):
        raise BadInput(f"An item of the type {item.get('type')!r} cannot be used here.", hint="Send messages.")
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not all(isinstance(one, dict) for one in parts):
        raise BadInput("The content of a message has a wrong form.", hint="Send a text or a list of parts.")
    found = (part.get("text") or part.get("refusal") for part in parts if part.get("type") in _TEXT_PARTS)
    text = "\n".join(one for one in found if isinstance(one, str))
    files = tuple(_parse_file(part) for part in parts if part.get("type") in ("input_image", "input_file"))
    if role == "assistant":
        return PromptMessage(message=assistant(text or None), text=text)
    message = user(text) if role == "user" else Message(role="system", content=text)
    return PromptMessage(message=message, text=text, files=files)


def _parse_file(part: dict[str, Any]) -> InlineFile:
    address = part.get("image_url") if part.get("type") == "input_image" else part.get("file_data")
    return parse_data_address(address, part.get("filename"))


class ResponseText(BaseModel):
    type: str = "output_text"
    text: str
    annotations: list[Any] = []
    logprobs: list[Any] = []


class ResponseMessage(BaseModel):
    type: str = "message"
    id: str
    role: str = "assistant"
    status: str = "completed"
    content: list[ResponseText]


class TokenDetails(BaseModel):
    cached_tokens: int = 0
    reasoning_tokens: int = 0


class ResponseUsage(BaseModel):
    input_tokens: int
    input_tokens_details: TokenDetails = TokenDetails()
    output_tokens: int
    output_tokens_details: TokenDetails = TokenDetails()
    total_tokens: int


class ResponseObject(BaseModel):
    """A whole answer."""

    id: str
    object: str = "response"
    created_at: int
    status: Literal["in_progress", "completed", "failed", "incomplete"]
    model: str
    output: list[ResponseMessage]
    usage: ResponseUsage | None = None
    error: dict[str, str] | None = None
    incomplete_details: None = None
    instructions: str | None = None
    metadata: dict[str, str] = {}
    parallel_tool_calls: bool = False
    previous_response_id: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    tool_choice: str = "none"
    tools: list[Any] = []


def build_message(id: str, text: str, *, status: str = "completed") -> ResponseMessage:
    return ResponseMessage(id=f"msg_{id}", status=status, content=[ResponseText(text=text)])


def build_response(id: str, wanted: ResponseRequest, completion: Completion, status: Any) -> ResponseObject:
    """The answer as it is now."""
    given, made = completion.usage("input_tokens"), completion.usage("output_tokens")
    used = ResponseUsage(input_tokens=given, output_tokens=made, total_tokens=given + made)
    is_done = status == "completed"
    failure = completion.failure
    return ResponseObject(
        id=f"resp_{id}",
        created_at=int(time.time()),
        status=status,
        model=wanted.model,
        output=[build_message(id, completion.text)] if is_done else [],
        usage=used if is_done else None,
        error={"code": failure.code, "message": f"{failure} {failure.hint}".strip()} if failure else None,
        previous_response_id=wanted.previous_response_id,
    )
