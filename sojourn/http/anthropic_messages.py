"""`/v1/messages`: the same agents for programs that speak Anthropic's API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from sojourn.core.errors import BadInput
from sojourn.core.messages import Message, ToolCall, assistant, user
from sojourn.http.completion_turn import Completion, CompletionsDep
from sojourn.http.dependencies import StreamsDep
from sojourn.http.problems import to_anthropic_error
from sojourn.http.prompt_messages import (
    CallPrompt,
    InlineFile,
    PromptMessage,
    build_prompt,
    parse_data_address,
    refuse_client_tools,
)
from sojourn.http.sse import FRAME_SCHEMA, EventStream
from sojourn.http.turns import TURN_FAULTS
from sojourn.text.token_count import estimate_tokens

router = APIRouter(prefix="/v1/messages", tags=["anthropic"])
Content = str | list[dict[str, Any]]


class AnthropicMessage(BaseModel):
    """One message of a call."""

    model_config = ConfigDict(extra="allow")
    role: Literal["user", "assistant", "system"]
    content: Content

    def to_prompts(self) -> list[PromptMessage]:
        """The message as it is kept; results of tools are messages of their own."""
        blocks = [{"type": "text", "text": self.content}] if isinstance(self.content, str) else self.content
        text = _join_text(blocks)
        if self.role == "assistant":
            calls = [_parse_call(one) for one in blocks if one.get("type") == "tool_use"]
            return [PromptMessage(message=assistant(text or None, calls), text=text)]
        results = [_parse_result(one) for one in blocks if one.get("type") == "tool_result"]
        files = tuple(_parse_file(one) for one in blocks if one.get("type") in ("image", "document"))
        own = user(text) if self.role == "user" else Message(role="system", content=text)
        said = [PromptMessage(message=own, text=text, files=files)] if text.strip() or files or not results else []
        return [*results, *said]


class AnthropicRequest(BaseModel):
    """A call. `max_tokens`, `temperature` and the like are passed over: the agent has its own."""

    model_config = ConfigDict(extra="allow")
    model: str = Field(min_length=1, max_length=400, description="`default`, or an id of /v1/models.")
    messages: list[AnthropicMessage] = Field(min_length=1, max_length=5000)
    system: Content | None = None
    stream: bool | None = False
    tools: list[Any] | None = Field(default=None, description="Refused unless `tool_choice` is `none`.")
    tool_choice: Any = None

    def to_prompt(self) -> CallPrompt:
        """BadInput for what an agent cannot do."""
        refuse_client_tools(self.tools, self.tool_choice)
        system = [{"type": "text", "text": self.system}] if isinstance(self.system, str) else self.system or []
        text = _join_text(system)
        first = [PromptMessage(message=Message(role="system", content=text), text=text)] if text else []
        said = [one for message in self.messages for one in message.to_prompts()]
        return build_prompt([*first, *said])


class AnthropicUsage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0


class AnthropicText(BaseModel):
    type: str = "text"
    text: str


class AnthropicAnswer(BaseModel):
    """A whole answer."""

    id: str
    type: str = "message"
    role: str = "assistant"
    model: str
    content: list[AnthropicText]
    stop_reason: str | None = "end_turn"
    stop_sequence: str | None = None
    usage: AnthropicUsage


class TokenCount(BaseModel):
    """An estimate."""

    input_tokens: int


_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"model": AnthropicAnswer, "content": {"text/event-stream": {"itemSchema": FRAME_SCHEMA}}}
}


@router.post("", summary="A message and its answer", responses=_RESPONSES | TURN_FAULTS)
async def create(wanted: AnthropicRequest, completions: CompletionsDep, streams: StreamsDep) -> Response:
    """Streams if asked to. The session is the one whose transcript the call sends, or a new one."""
    completion = await completions.start(wanted.to_prompt(), wanted.model)
    if wanted.stream:
        return EventStream(streams, _stream(completion, wanted.model), completion.headers, resumable=False)
    await completion.collect()
    answer = _build_answer(completion, wanted.model)
    return Response(to_json(answer.model_dump()), media_type="application/json", headers=completion.headers)


@router.post("/count_tokens", summary="Estimate the tokens of a call")
async def count(wanted: AnthropicRequest) -> TokenCount:
    prompt = wanted.to_prompt()
    return TokenCount(input_tokens=sum(estimate_tokens(one.text) for one in (*prompt.earlier, prompt.last)))


def _build_answer(completion: Completion, model: str) -> AnthropicAnswer:
    used = AnthropicUsage(
        input_tokens=completion.usage("input_tokens"), output_tokens=completion.usage("output_tokens")
    )
    content = [AnthropicText(text=completion.text)] if completion.text else []
    return AnthropicAnswer(id=f"msg_{completion.turn.id}", model=model, content=content, usage=used)


async def _stream(completion: Completion, model: str) -> AsyncGenerator[bytes, None]:
    begun = _build_answer(completion, model).model_dump() | {"stop_reason": None, "content": []}
    yield _frame("message_start", {"message": begun})
    yield _frame("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    async for text in completion.pieces():
        yield _frame("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})
    if completion.failure is not None:
        yield b"event: error\ndata: %b\n\n" % to_anthropic_error(completion.failure).encode()
        return
    yield _frame("content_block_stop", {"index": 0})
    used = {"output_tokens": completion.usage("output_tokens"), "input_tokens": completion.usage("input_tokens")}
    yield _frame("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": used})
    yield _frame("message_stop", {})


def _frame(event: str, values: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), to_json({"type": event, **values}))


def _join_text(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(str(one["text"]) for one in blocks if one.get("type") == "text" and one.get("text"))


def _parse_call(block: Mapping[str, Any]) -> ToolCall:
    arguments = to_json(block.get("input") or {}).decode()
    return ToolCall(id=str(block.get("id", "")), name=str(block.get("name", "")), arguments=arguments)


def _parse_result(block: Mapping[str, Any]) -> PromptMessage:
    content = block.get("content") or ""
    text = content if isinstance(content, str) else _join_text([one for one in content if isinstance(one, dict)])
    message = Message(role="tool", content=text, tool_call_id=str(block.get("tool_use_id", "")))
    return PromptMessage(message=message, text=text)


def _parse_file(block: Mapping[str, Any]) -> InlineFile:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") not in ("base64", "text"):
        raise BadInput("A picture or file must come in base64.", hint="We fetch nothing for a caller.")
    if source["type"] == "text":
        return InlineFile(data=str(source.get("data", "")).encode(), media_type="text/plain")
    address = f"data:{source.get('media_type', '')};base64,{source.get('data', '')}"
    return parse_data_address(address, block.get("title"))
